// Microbatches that are planned no more, by step: what the Quarantine entries of a journal say together.
//
// The samples of a microbatch are a function of (seed, step, index), so the cause of its replicas' ends is
// there again on every branch: a quarantine is of (step, index), and holds for the run. (With sync.requeue_lost another
// branch may have other samples there, and leaves those out.) Bounded by the code that appends the entries (poison.h).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "messages/journal.h"

namespace shoal {

class Quarantines {
 public:
  Quarantines() = default;
  explicit Quarantines(const std::vector<QuarantinedMicrobatch>& all) {
    for (const auto& [step, microbatch] : all) insert(step, microbatch);
  }
  [[nodiscard]] std::vector<QuarantinedMicrobatch> all() const {
    std::vector<QuarantinedMicrobatch> all;
    for (const auto& [step, microbatches] : of_step_) {
      for (const MicrobatchId microbatch : microbatches) all.push_back({step, microbatch});
    }
    return all;
  }

  void insert(StepId step, MicrobatchId microbatch) { of_step_[step].insert(microbatch); }
  [[nodiscard]] const std::set<MicrobatchId>& of(StepId step) const {
    static const std::set<MicrobatchId> kNone;
    const auto found = of_step_.find(step);
    return found == of_step_.end() ? kNone : found->second;
  }
  [[nodiscard]] bool contains(StepId step, MicrobatchId microbatch) const { return of(step).contains(microbatch); }
  // Counts the microbatches of all steps.
  [[nodiscard]] std::size_t count() const {
    std::size_t count = 0;
    for (const auto& [step, microbatches] : of_step_) count += microbatches.size();
    return count;
  }

 private:
  std::map<StepId, std::set<MicrobatchId>> of_step_;
};

}  // namespace shoal
