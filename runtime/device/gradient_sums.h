// The accumulators of a step at one stage, and the mean they become.
//
// Exact mode: int64 fixed point, so that the sum does not depend on the order of microbatches, replicas or failures
// (DESIGN.md §4.9, S-5). Fast mode: float32. The whole step's sum comes back from the reduction and is turned into the
// mean gradient in a buffer apart from the accumulators, which a membership change may still need (P-18).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"
#include "runtime/device/flat_layout.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

// The largest magnitude of a value that is added: of a gradient that so many tokens were summed into. Any device's.
[[nodiscard]] float largest_addend(Reduction reduction, std::uint64_t microbatch_tokens);

class GradientSums {
 public:
  // `layout` must outlive this. planned_tokens: of a step, over all microbatches.
  GradientSums(const FlatLayout& layout, Reduction reduction, std::uint64_t planned_tokens);

  // Adds one microbatch's gradient of a tensor. False, and nothing is added, when a value is no number, or beyond
  // largest_addend().
  [[nodiscard]] bool add(const FlatTensor& tensor, std::span<const float> gradient, std::uint64_t microbatch_tokens);
  void clear();

  // A copy of the accumulators, [layout.size], int64 (exact) or float32 (fast).
  [[nodiscard]] TensorBlob contribution() const;
  // Ensures type and size of `sum`. token_count 0 gives a mean of zero.
  [[nodiscard]] ReducedSum adopt(const TensorBlob& sum, std::uint64_t token_count);
  [[nodiscard]] bool has_mean() const { return has_mean_; }
  [[nodiscard]] std::span<const float> mean_of(const FlatTensor& tensor) const { return mean_.of(tensor); }

 private:
  const FlatLayout& layout_;
  int fraction_bits_;
  std::variant<FlatBuffer<float>, FlatBuffer<std::int64_t>> sums_;
  FlatBuffer<float> mean_;
  bool has_mean_ = false;
};

}  // namespace shoal
