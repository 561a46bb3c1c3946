// A device's arithmetic over all tensors of a flat array at once: sums, norms, digests and updates of a stage.
//
// Made for one layout (DeviceMath::of_flat). A device with kernels needs one launch for all of them, where a stage has
// hundreds of tensors. Called as DeviceMath is.
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

  // Adds the values of a gradient, if all of them are numbers of at most `limit`; otherwise nothing of it.
  struct Addition {
    at::Tensor sums;        // the flat array. int64: fixed point with fraction_bits, halves away from zero; or float32
    int fraction_bits = 0;  // of int64
    float limit = 0;
  };
  // gradients[i], float32, is tensor first + i's. Returns bool [gradients]: it was added.
  [[nodiscard]] virtual at::Tensor add_within(const Addition& into, std::size_t first,
                                              std::span<const at::Tensor> gradients) const = 0;
  // The sum of squares of each tensor: double [tensors].
  [[nodiscard]] virtual at::Tensor squared_norms(const at::Tensor& flat) const = 0;
  // Values of all tensors' blocks (runtime/device/digest.h), in the order of the tensors: int64 [blocks], on the device
  // or on the host. flat: float32.
  [[nodiscard]] virtual at::Tensor block_values(const at::Tensor& flat) const = 0;
  // One update in place, as apply_adamw() has it; `copy`, bf16, becomes the weights. Flat arrays; coefficients: of each
  // tensor.
  struct AdamwTensors {
    at::Tensor weights, average, average_sq, gradient, copy;
  };
  virtual void apply_adamw(std::span<const AdamwCoefficients> coefficients, const AdamwTensors& tensors) const = 0;
};

// By torch's operators, tensor after tensor.
[[nodiscard]] std::unique_ptr<FlatMath> torch_flat_math(std::vector<FlatSpan> spans);

}  // namespace shoal
