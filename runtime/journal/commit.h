// Judges which vote counts, and makes the commit of the votes (protocol P-22, DESIGN.md §4.6, §4.8, §4.9).
//
// Every figure is computed in one stated order, so that it does not depend on the cut, the replicas or the order of
// votes: losses in the order of the microbatches, squared norms in the order of the tensors' names. The run in one
// process concludes its steps with the same function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/config.h"
#include "runtime/journal/view.h"

namespace shoal {

struct CommitPolicy {
  OptimConfig optim;  // says the learning rate of each step, and clip_norm (0: off)
  // Updates applied of the state the run starts with: counts where the journal lacks the steps before it, because
  // they were trained by one process.
  std::uint64_t optimizer_step_at_start = 0;
};

// Sums of a step, before the decision to apply or skip it.
struct StepSums {
  StepId step;
  std::uint64_t optimizer_step_before = 0;
  std::vector<ManifestEntry> entries;       // those of all stages, in any order: token counts and bad tensors
  std::vector<ManifestEntry> loss_entries;  // those of the last stage: each microbatch once, in any order
  std::vector<TensorNorm> norms;            // those of all stages, in any order
};

// Returns the factor for a mean gradient that keeps its norm at most clip_norm: min(1, clip_norm / (norm + 1e-6)); 1
// when clip_norm is 0 (off).
[[nodiscard]] double clip_scale_of(double clip_norm, double gradient_norm);

// The norm over all tensors, added in the order of their names, whatever stage they came from (DESIGN.md §4.8).
[[nodiscard]] double gradient_norm_of(std::vector<TensorNorm> norms);

// Sums, norms, clip scale, learning rate, and the skip: a bad tensor, a loss or a norm that is not finite (P-22b; the
// lowest microbatch, then the first name). Leaves stages and checkpoint_by empty.
[[nodiscard]] Commit conclude_step(StepSums sums, const CommitPolicy& policy);

// Why a vote must not be counted, in the view it would be committed in; nothing when it is valid (P-22).
[[nodiscard]] std::optional<std::string> why_void(const Prepared& vote, const View& view);

}  // namespace shoal
