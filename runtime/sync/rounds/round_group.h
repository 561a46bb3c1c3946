// RoundGroupCore: brings one stage's replicas to one mean per fragment and round, and votes for it (DESIGN.md §6).
//
//   preparing ──all contributions, or a quorum and its grace is over──▶ reducing ──all of them, equal digests──▶ voted
//       ▲           (Prepare, Manifest)                                    │ time-out; digests differ: a pause    │
//       └──────────────────────── the stage's membership changed (P-20) ───┴──────────────────────────────────────┘
//   voted ──CommitRound──▶ over
//
// Beside SyncGroupCore, in the same actor, with the same rules, kept by the same SumAgreement; a restart begins from
// the journal (P-21). Rounds of several fragments are open at once and know nothing of each other. The divisor is the
// sum of the shares that were really summed. Only members that bring tokens fill a quorum (P-31a). Where all have
// answered nobody is left to be waited for: a stage with fewer members than the quorum was held before the commit that
// these contributions follow (SupervisorCore), because nobody can join it while a round is open. A member that is late
// for a closed round reads that in the journal (CommitRound without it) and has its mean of a peer (RoundMember). Pure:
// time comes in, letters go out.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "messages/values/run_events.h"
#include "runtime/base/config.h"
#include "runtime/base/time/watched_time.h"
#include "runtime/journal/round_plan.h"
#include "runtime/sync/sync_group.h"

namespace shoal {

struct RoundGroupConfig {
  RunId run;
  Term term;
  StageId stage;
  Incarnation self;
  SyncConfig sync;
  Duration repeat_after = std::chrono::seconds(2);  // for an unanswered order; doubles with each repeat and try
  // Patience with a mean that stands still: at least this, and four times the average of the fragment's means from then
  // on; doubles with each try of a round.
  Duration reduce_timeout = std::chrono::seconds(60);
  Duration look_max = kLookMax;  // between two ticks
};

class RoundGroupCore {
 public:
  using Phase = SumAgreement::Phase;

  explicit RoundGroupCore(RoundGroupConfig config);

  void begin_at(const View& past);
  [[nodiscard]] SyncGroupEffects follow(const JournalEntry& entry, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Manifest& manifest, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Reduced& reduced, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Progress& progress, Instant now);
  [[nodiscard]] SyncGroupEffects tick(Instant now);

  // "round 3 of fragment 1: waiting for the contributions of 12": for `shoal status`; empty when none is open.
  [[nodiscard]] std::string explain() const;

 private:
  struct Round {
    StepId step;  // steps applied at its contributions
    SumAgreement sum;
    std::optional<Duration> quorum_since;  // in this epoch, on our watch
  };

  [[nodiscard]] const std::vector<ReplicaMember>& members() const { return view_.replicas_of(config_.stage); }
  [[nodiscard]] bool has_quorum(const Round& round) const;
  [[nodiscard]] Round* find(const RoundId& id);
  void take_up(const std::string& why, Instant now);
  void try_again(const RoundId& id, Round& round, const SumFailure& failure, Instant now);
  void announce(const RoundId& id, Round& round, const std::string& why, Instant now);
  void ask_if_due(Round& round, Instant now);
  void reduce_if_due(const RoundId& id, Round& round, Instant now);
  void conclude(const RoundId& id, Round& round, Instant now);
  void give(const Round& round);
  void send_to(Incarnation member, MessageBody body);
  void tell(RunEventKind kind, const RoundId& id, const std::string& why);
  void tell_who_missed(const CommitRound& entry);
  [[nodiscard]] SyncGroupEffects take_effects();

  RoundGroupConfig config_;
  RoundSchedule schedule_;
  View view_;
  bool is_appointed_ = false;
  Epoch epoch_;                                // epoch of the last order given, for any round
  WatchedTime time_{std::chrono::seconds(1)};  // a pause of our own is nobody's grace
  std::map<RoundId, Round> rounds_;
  std::map<std::uint32_t, SumPatience> patience_;  // by fragment: one may be much larger than another
  SyncGroupEffects effects_;
};

}  // namespace shoal
