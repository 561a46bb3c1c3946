// SumAgreement: how the members of a stage come to one sum, and their group to its vote: of a step (SyncGroupCore), of
// a round of a fragment (RoundGroupCore). Its owner says what is asked for and when; this, what counts and when again.
//
//   open ──ask()──▶ preparing ──reduce(): of all whose manifests are in──▶ reducing ──all, equal digests──▶ voted
//     ▲                                                                       │ time-out; digests differ: a pause
//     └── begin(): a new, higher epoch (P-15) ─── also at a change (P-20) ────┘
//
// An answer counts once per member, for the order in force alone, and only as an answer to what was asked. A vote
// follows equal digests of everybody in the sum (P-19); no time-out ends it. First intervals and time-outs double with
// each try that was in vain and intervals with each repeat; a change of membership is no try.
//
// Nobody knows beforehand how large a sum is or how slow its ways: a Reduce is repeated, and then given up, when nobody
// in the sum was heard to have come closer to it for so long (Progress, Reduced), however long ago it was ordered.
// Only time that its owner watched counts as silence. Pure: time comes in; it knows nothing of letters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/journal.h"
#include "messages/values/run_events.h"
#include "messages/sync.h"
#include "runtime/base/clock.h"
#include "runtime/base/time/watched_time.h"
#include "runtime/journal/view.h"

namespace shoal {

inline constexpr Duration kLookMax = std::chrono::seconds(1);

struct SumAgreementConfig {
  std::string noun;               // word for people: sum, mean
  Duration repeat_after;          // for an unanswered order or vote; doubles with each repeat and, for orders, each try
  bool keeps_sums_apart = false;  // each member has its own: digests differ
  Duration look_max = kLookMax;   // between two looks at the time; what is longer was a pause of our own
};

// Why a try was in vain: what people are told of it, and a sentence.
struct SumFailure {
  RunEventKind kind{};
  std::string why;
};

class SumAgreement {
 public:
  enum class Phase : std::uint8_t { kOpen, kPreparing, kReducing, kVoted };

  explicit SumAgreement(SumAgreementConfig config) : config_(std::move(config)), time_(config_.look_max) {}

  // Another epoch, higher than those before it (ensured); `position`: where the journal stands (P-22).
  void begin(const OrderId& order, JournalPosition position, const std::vector<ReplicaMember>& members, Instant now);
  // Its members are asked for their manifests.
  void ask(Instant now);
  // Those whose manifests are in make the sum; it may stand still for so long.
  void reduce(Instant now, Duration timeout);
  // The try came to nothing: the next epoch is given longer.
  void tried_in_vain() { ++tries_; }

  // Takes an answer. Returns whether it counts.
  [[nodiscard]] bool hear(const Manifest& manifest);
  [[nodiscard]] bool hear(const Reduced& reduced, Instant now);
  // A hint, never a proof (P-14): it buys time and nothing else.
  [[nodiscard]] bool hear(const Progress& progress, Instant now);
  // An Open or a Zero that asks for no manifest.
  void obeyed(Incarnation member, const Epoch& epoch);
  // When all have reduced: voted, or why not. Then there is a pause before anybody is asked again.
  [[nodiscard]] std::optional<SumFailure> conclude(Instant now);
  // Before overdue() and repeats(), at least every `look_max`: time that was not looked at is nobody's silence.
  void look(Instant now);
  // The sum stands still for too long.
  [[nodiscard]] std::optional<SumFailure> overdue(Instant now) const;
  // True when the order, or the vote, is to be given again; the next time comes later.
  [[nodiscard]] bool repeats(Instant now);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const OrderId& order() const { return order_; }
  [[nodiscard]] bool is_paused(Instant now) const { return now < pause_until_; }
  [[nodiscard]] const std::set<Incarnation>& unanswered() const { return unanswered_; }
  // Returns the members that the order is for: those that have not answered it. A Reduce is for all in the sum: one
  // that has it already may be the one whose part another lacks, and sends it again.
  [[nodiscard]] std::vector<Incarnation> receivers() const;
  // Answers of this epoch.
  [[nodiscard]] const std::map<Incarnation, Manifest>& manifests() const { return manifests_; }
  [[nodiscard]] const std::map<Incarnation, Reduced>& reduced() const { return reduced_; }
  // Once voted: the order, where its epoch began, and the digest. What else it has to say is its owner's.
  [[nodiscard]] Prepared vote() const;
  // Since the epoch began, or its reduction, up to the last look or Reduced: time that its owner watched.
  [[nodiscard]] Duration age() const { return time_.watched() - began_; }
  // A time-out or an interval, for this try.
  [[nodiscard]] Duration doubled(Duration base) const;

 private:
  void repeat_after(Duration interval, Instant now);
  void moved(Instant now);

  SumAgreementConfig config_;
  Phase phase_ = Phase::kOpen;
  OrderId order_;             // in force
  JournalPosition position_;  // the journal's when the epoch began
  std::uint32_t tries_ = 1;   // the one that goes on, and those in vain
  std::map<Incarnation, Manifest> manifests_;
  std::map<Incarnation, Reduced> reduced_;
  std::map<Incarnation, std::uint64_t> progress_;  // for those in the sum, the furthest heard of
  std::set<Incarnation> unanswered_;
  WatchedTime time_;
  Duration began_{};    // on its owner's watch
  Instant moved_at_{};  // the reduction, as far as is known; later by what was not watched since
  Instant pause_until_{};
  Instant repeat_at_{};
  Duration repeat_interval_{};
  Duration reduce_timeout_{};
};

// Says what an entry that voids the sums of a stage has changed (P-20).
[[nodiscard]] std::string what_changed(const JournalEntry& entry);

}  // namespace shoal
