// A device's arithmetic over all tensors of a flat array at once: sums, norms, digests and updates of a stage.
//
// Made for one layout (DeviceMath::of_flat). Bits are those of DeviceMath's functions for one tensor after the other; a
// device with kernels needs one launch for all of them, where a stage has hundreds of tensors.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/device/queue/math/device_math.h"

namespace shoal {

class FlatMath {
 public:
  FlatMath() = default;
  FlatMath(const FlatMath&) = delete;
  FlatMath& operator=(const FlatMath&) = delete;
  virtual ~FlatMath() = default;

  // DeviceMath::add_within() for tensors first, first + 1, ...: gradients[i], float32, of tensor first + i. into.sums:
  // the flat array. Returns bool [gradients].
  [[nodiscard]] virtual at::Tensor add_within(const DeviceMath::Addition& into, std::size_t first,
                                              std::span<const at::Tensor> gradients) const = 0;
  // Double [tensors].
  [[nodiscard]] virtual at::Tensor squared_norms(const at::Tensor& flat) const = 0;
  // Values of all tensors' blocks, in the order of the tensors: int64 [blocks]. flat: float32.
  [[nodiscard]] virtual at::Tensor block_values(const at::Tensor& flat) const = 0;
  // coefficients: of each tensor. tensors: flat arrays.
  virtual void apply_adamw(std::span<const AdamwCoefficients> coefficients,
                           const DeviceMath::AdamwTensors& tensors) const = 0;
};

// By `math`, tensor after tensor; it outlives the result.
[[nodiscard]] std::unique_ptr<FlatMath> one_after_another(const DeviceMath& math, std::vector<FlatSpan> spans);

}  // namespace shoal
