// How a joiner comes to hold the state of its stage while training goes on (P-26, P-26a, P-27).
//
//   asking ──StateImage of version v──▶ following: StepSum of step v, v+1, ... each with its Commit ──▶ current
//     ▲                                   │
//     └── the donor left the view, refuses, or a sum is lost: copy again, from the next member of the view ──┘
//
// An image may come in pieces (P-26b); a newer one that its donor begins takes its place.
//
// With sync.mode = diloco there is no common sum between rounds: the joiner follows the count of steps, and copies
// again when a round was due, because then the outer parameters are others; an image that the round overtook is
// replaced at once (P-36).
//
// The journal says what a step *is* (rate, clip scale, skip, digest of its mean gradient), the donor gives its sum. A
// joiner is current when its version equals the steps committed in its journal; only the supervisor knows whether that
// is still so. Bounded (S-6): one image on its way (the donor sees to it), the newest kRecordsMax commits, kSumsMax
// sums. Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"
#include "runtime/journal/round_plan.h"
#include "runtime/storage/image/piece_window.h"

namespace shoal {

struct StateCopySetup {
  Incarnation self;
  StageId stage;
  Branch branch;
  Incarnation donor;               // asked first, once the journal shows it in the view
  JournalPosition donor_seen_at;   // position at which the donor was in the view: in none from there on, it has left
  std::vector<std::string> names;  // names of the stage's weights
  // sync.mode = diloco: what is copied is what all agree on, and that changes with rounds alone.
  std::optional<SyncConfig> rounds = std::nullopt;
};

// A step to repeat: what every member of the stage did with it.
struct FollowedStep {
  StepId step;
  bool is_skipped = false;
  TensorBlob sum;  // none: the step was skipped
  std::uint64_t token_count = 0;
  std::uint64_t digest = 0;  // digest of the mean gradient, as the commit names it
  double learning_rate = 0;
  double clip_scale = 1;
  std::uint64_t optimizer_step = 0;
};

class StateCopy {
 public:
  static inline const Bound kRecordsMax{"sync.commits_of_a_joiner", 1024};
  static inline const Bound kSumsMax{"sync.sums_of_a_joiner", 512};
  static constexpr Duration kAskAgain = std::chrono::seconds(2);       // for an image; donors ignore impatience
  static constexpr Duration kSayAgain = std::chrono::seconds(2);       // which version is held
  static constexpr Duration kStallFirst = std::chrono::seconds(5);     // without the sum of a committed step; or
  static constexpr Duration kStallLongest = std::chrono::minutes(10);  // four times what the image took

  explicit StateCopy(StateCopySetup setup);

  // Every entry, in order; those of other branches say nothing here.
  void follow(const JournalEntry& entry, Instant now);
  // So far the journal has been followed, whatever of it was told.
  void reach(JournalPosition position) { position_ = std::max(position_, position); }
  // Returns what to tell the donor, when it is time to; asked until there is nothing.
  [[nodiscard]] std::optional<FetchState> due(Instant now);
  // True for the image that was asked for, or its next piece: load it, then took_piece() or loaded().
  [[nodiscard]] bool accepts(const StateImage& image, Instant now);
  void took_piece(std::uint64_t bytes, Instant now);
  void loaded(std::uint64_t version, Instant now);
  // Takes note that part of an image or of a sum has come. Returns whether it is of the image that is waited for.
  [[nodiscard]] bool arriving(const StateProgress& progress, Instant now);
  void hold(const StepSum& sum, Instant now);
  // The donor does not give what it was asked for. While an image comes only a refusal of that one counts.
  void refused(const StateUnavailable& refusal);
  // The step to repeat next, then followed(). None: it has not come, or there is none.
  [[nodiscard]] std::optional<FollowedStep> next();
  void followed(Instant now);

  [[nodiscard]] bool is_current() const { return version_ && *version_ == committed_ && !is_asking_; }
  // True when it has a state, but must copy again to come further: the supervisor should know (P-27).
  [[nodiscard]] bool fell_behind() const { return version_ && is_asking_; }
  [[nodiscard]] Incarnation donor() const { return donor_; }
  [[nodiscard]] std::uint64_t copies() const { return copies_; }
  // Returns the bytes held of the image on its way, from its first one on.
  [[nodiscard]] std::uint64_t held_bytes() const { return pieces_ ? pieces_->window.held() : 0; }

 private:
  struct Pieces {
    std::uint64_t version = 0;
    PieceWindow window;
  };

  // The image on its way is of no use: another one is asked for.
  void ask_anew();
  [[nodiscard]] bool is_stuck(Instant now) const;
  [[nodiscard]] bool has_round_after(std::uint64_t version) const;
  [[nodiscard]] bool is_first_to_come() const;
  [[nodiscard]] bool has_donor();
  void record(const Commit& commit);
  [[nodiscard]] FetchState request(std::uint64_t version, std::vector<std::string> names) const;

  StateCopySetup setup_;
  std::optional<RoundSchedule> schedule_;
  std::uint64_t newest_round_ = 0;  // the last version up to the journal's at which rounds were due
  std::set<Incarnation> members_;   // members of the stage
  Incarnation donor_;               // 0: nobody to ask
  std::uint64_t committed_ = 0;     // steps, in the journal so far
  bool is_asking_ = true;
  JournalPosition position_;  // in the journal
  bool is_refused_ = false;   // by the donor, since it was chosen
  std::optional<std::uint64_t> version_;
  std::map<std::uint64_t, FollowedStep> records_;  // by step, without their sums
  std::map<std::uint64_t, StepSum> sums_;          // by step
  std::optional<Instant> asked_at_;                // for the image on its way
  std::optional<Pieces> pieces_;                   // of it, once the first one of several was accepted
  std::optional<Instant> said_at_;                 // which version is held
  Instant first_asked_at_{};
  Instant moved_at_{};  // when something last came
  Duration image_took_{};
  std::uint64_t copies_ = 0;
};

}  // namespace shoal
