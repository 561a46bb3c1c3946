// StepHints: what members and the data loader say of how far a step is. Hints decide when to look and how long to wait;
// only manifests are proof (P-14). Those of the next step may overtake this step's commit, and wait for it.
//
// A count is that of the epoch it was said in: after a Zero a member's count begins again. AllAnswered is no hint for a
// while once something is known to be missing, because its sender does not know that (P-17). Bounded (S-6): a count of
// each step for each replica that its owner passes on. Pure: time comes in.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "messages/journal.h"
#include "messages/sync.h"
#include "runtime/base/clock.h"

namespace shoal {

class StepHints {
 public:
  enum class Of : std::uint8_t { kThisStep, kNextStep };

  // The step begins from nothing; hints of the next one stay.
  void clear() { now_ = {}; }
  // The step is committed: what was said of the next one is said of this one.
  void begin_next(Instant now);

  // True: it says more than was known.
  bool hear(const Progress& progress, Of step);
  void hear_all_answered(Of step) { (step == Of::kThisStep ? now_ : next_).all_answered = true; }
  // A frozen member's manifest is also its exact count.
  void count(Incarnation member, const Epoch& epoch, std::uint32_t microbatches);
  void forget_counts() { now_.progress.clear(); }
  void forget_all_answered() { now_.all_answered = false; }
  void ignore_all_answered_until(Instant then) { all_answered_from_ = then; }
  // There was progress, or a try began.
  void moved(Instant now) { moved_at_ = now; }

  // Members have answered so many since the last Zero, or the data loader all of them.
  [[nodiscard]] bool cover(std::uint64_t planned, const std::vector<ReplicaMember>& members, const Epoch& last_zero,
                           Instant now) const;
  [[nodiscard]] bool has_counts() const { return !now_.progress.empty(); }
  [[nodiscard]] std::size_t counts() const { return now_.progress.size() + next_.progress.size(); }
  [[nodiscard]] Duration quiet_for(Instant now) const { return now - moved_at_; }

 private:
  struct Count {
    Epoch epoch;
    std::uint32_t microbatches = 0;
    friend auto operator<=>(const Count&, const Count&) = default;
  };
  struct Said {
    std::map<Incarnation, Count> progress;
    bool all_answered = false;
  };

  Said now_;
  Said next_;
  Instant moved_at_{};
  Instant all_answered_from_{};
};

}  // namespace shoal
