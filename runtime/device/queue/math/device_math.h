// The arithmetic of a stage on a device: what its executor computes beside the parts of the model.
//
// Called within a turn of the device's queue; tensors are dense, on the device, float32 unless said. Nothing here
// waits, and an undefined tensor is absent. Sums, means and their flags have the processor's bits in every
// implementation (model/update_kernels.h); the others say what theirs are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/arithmetic/step_elements.h"
#include "model/parts/fused_math.h"
#include "model/parts/loss.h"
#include "runtime/executor/device_injury.h"
#include "runtime/sync/wire/wire_layout.h"

namespace shoal {

class FlatMath;
class OuterArithmetic;

// A tensor of flat arrays, in elements. The copy in bf16 has an array of its own.
struct FlatSpan {
  std::int64_t offset = 0;
  std::int64_t count = 0;
  std::int64_t copy = 0;  // its offset there
};

class DeviceMath {
 public:
  DeviceMath() = default;
  DeviceMath(const DeviceMath&) = delete;
  DeviceMath& operator=(const DeviceMath&) = delete;
  virtual ~DeviceMath() = default;

  // mean = sums / tokens, rounded once. tokens: at least 1.
  struct Division {
    at::Tensor sums;
    int fraction_bits = 0;
    std::uint64_t tokens = 1;
  };
  virtual void divide(const Division& of, const at::Tensor& mean) const = 0;

  // One update in place, as apply_sgd() has it; `copy`, bf16, becomes the weights.
  struct SgdTensors {
    at::Tensor weights, gradient, copy;
  };
  virtual void apply_sgd(const SgdCoefficients& coefficients, const SgdTensors& tensors) const = 0;

  // Cross-entropy over logits, float32 or bf16, which may be written over; the gradient is of their type, and of their
  // strides where these are rows beside rows: zero behind the vocabulary. targets: int32, -1 is not counted.
  [[nodiscard]] virtual LossAndGradient loss_and_gradient(const at::Tensor& logits_BTV,
                                                          const at::Tensor& targets_BT) const = 0;

  // Gives what computes over every tensor of a flat array at once (flat_math.h); this outlives the result.
  [[nodiscard]] virtual std::unique_ptr<FlatMath> of_flat(std::vector<FlatSpan> spans, at::Device device) const = 0;

  // Values in a format of the wire (runtime/sync/wire/wire_codec.h), with the processor's bits in both directions.
  // On a device the header begins with the largest magnitude, as bits: 0 of a vector that the host has checked. Where a
  // value is beyond what the formats carry (is_carried()), the values stand behind it as they are.
  struct EncodedValues {
    WireShape shape;
    at::Tensor bytes;  // uint8 [at least room_of(shape), or encoded_bytes(shape) of what the host has checked]
  };
  [[nodiscard]] static constexpr std::size_t room_of(const WireShape& shape) {
    return std::max(encoded_bytes(shape), kWireHeaderBytes + shape.count * sizeof(float));
  }
  // values: float32, as many as `into` is for.
  virtual void encode(const at::Tensor& values, const EncodedValues& into) const = 0;
  // The same values as decode_values() gives, or those that are there as they are.
  virtual void decode(const EncodedValues& from, const at::Tensor& values) const = 0;

  // Gives what computes rounds over arrays on the device (runtime/device/outer/outer_math.h); this outlives the result.
  [[nodiscard]] virtual std::unique_ptr<OuterArithmetic> of_outer(at::Device device) const = 0;

  // A kernel that meets the fault or does not end; for tests of what follows. Not of a lack of memory.
  virtual void injure(DeviceInjury how) const = 0;

  // Returns what the parts of the model get; none: torch's operators alone. Lives as long as this.
  [[nodiscard]] virtual const FusedMath* fused() const { return nullptr; }
};

// By torch's operators, over tensors one after the other. Block values are computed on the host, of a copy; updates
// round more often than the processor's explicit fma; norms add fixed pieces.
[[nodiscard]] std::shared_ptr<const DeviceMath> torch_math();

// Digest of block values, one array after the other. Waits.
[[nodiscard]] std::uint64_t digest_of_values(const std::vector<at::Tensor>& values);

}  // namespace shoal
