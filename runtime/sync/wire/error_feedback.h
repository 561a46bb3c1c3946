// Keeps what a member's encoding left out of earlier sums, to be added to its next contribution (Seide et al. 2014;
// Karimireddy et al. 2019): the sum of a chain's rounds then misses one round's error, not every round's.
//
// Kept by the member that encoded, per chain (rounds of a fragment of which each is agreed before the next one is
// contributed to: RoundSchedule::feedback_chain), in the units of its contributions. A residual is taken over when its
// round is agreed, not when it was reduced: a round that is begun again starts from the residual before it.
//
// Only for what adds up from round to round, a delta. Averages of the inner optimiser that travel behind it
// (inner_state = average) are replaced by every mean, so that an error of one round is gone with the next. The residual
// of larger ones would be no correction of those that have faded since, but make averages of squares negative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "messages/tensor_blob.h"

namespace shoal {

class ErrorFeedback {
 public:
  // Contributions are so many parts of one size, and the first one is the delta.
  explicit ErrorFeedback(std::size_t part_count = 1) : part_count_(part_count) {}

  // contribution: float32 [n]. The contribution, its first part plus what is kept of this chain; itself if nothing is.
  // Ensures that both have one size.
  [[nodiscard]] TensorBlob corrected(std::uint64_t chain, const TensorBlob& contribution) const;
  // GroupReduction::residual() of the round that was applied; no tensor: nothing was left out.
  void keep(std::uint64_t chain, TensorBlob residual);
  // True when something is kept: corrected() gives other values than the contribution's.
  [[nodiscard]] bool corrects(std::uint64_t chain) const { return residuals_.contains(chain); }
  // The weights these residuals belong to are no more: restarted from the outer parameters, or rolled back.
  void forget() { residuals_.clear(); }

 private:
  std::size_t part_count_;
  std::map<std::uint64_t, TensorBlob> residuals_;
};

}  // namespace shoal
