// Finds the microbatches that a round loses, and where in the plan they are trained again (sync.requeue_lost, P-33).
//
// A microbatch is lost when the round's stage was trained on it since the fragment's contributions before, and no share
// is made of it: for a member without a share, all of its microbatches; for one whose share has fewer tokens than it
// trained on, the earliest. Manifests say who trained on what. Those of steps before the members began need not be
// known: their members are gone, so all of them is lost. Together the lost ones have the entry's number of lost tokens.
//
// A microbatch that several stages or fragments lose is trained again once, everywhere, under the first free places
// after the step in progress, which the data loader may have begun already. Quarantined ones were never planned.
// Bounded (S-6): manifests of `window` steps; RequeuedSamples::kWaitingMax lost microbatches wait for their places,
// what is lost beyond them is not trained again. Pure: everything is a function of the journal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/journal/view.h"

namespace shoal {

class LostSamples {
 public:
  // window: the most steps from a contribution to the end of the fragment's next round; 0: nothing is trained again.
  LostSamples(std::uint32_t microbatches, std::uint64_t window) : microbatches_(microbatches), window_(window) {}

  // Follows the journal in its order.
  void follow(const JournalEntry& entry);

  // The oldest entry whose manifests may still be asked for. None: nothing is trained again.
  [[nodiscard]] std::optional<JournalPosition> needed_from() const {
    return trained_.empty() ? std::nullopt : std::optional(trained_.begin()->second.position);
  }
  // Returns what was lost in the stage's steps from `since` to the entry's, ascending.
  [[nodiscard]] std::vector<PlaceId> lost_in(const CommitRound& entry, StepId since, const View& view) const;
  // The entry, which is about to be the next one, says what of it is trained again, and where.
  void name_lost(CommitRound& entry, StepId since, const View& view) const;

 private:
  struct Trained {
    JournalPosition position;
    std::vector<StageCommit> stages;
  };

  [[nodiscard]] PlaceId place_of(StepId step, MicrobatchId microbatch) const {
    return shoal::place_of(step, microbatch, microbatches_);
  }
  [[nodiscard]] const std::vector<MemberManifest>* manifests_of(StageId stage, StepId step) const;

  std::uint32_t microbatches_;
  std::uint64_t window_;
  std::map<StepId, Trained> trained_;  // by step; those of a branch that was left until it is made anew
};

}  // namespace shoal
