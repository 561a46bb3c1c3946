// Computes by torch's operators what stands beside the sums over flat arrays; formats of the wire by the processor's
// loops, of copies.
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "runtime/base/ensure.h"
#include "runtime/device/host_tensor.h"
#include "runtime/device/queue/math/flat_math.h"
#include "runtime/device/queue/math/torch_outer_arithmetic.h"
#include "runtime/sync/wire/wire_codec.h"
#include "runtime/sync/wire/wire_kernels.h"

namespace shoal {
namespace {

// The first bytes of a tensor of bytes, on the host at the wire's alignment.
std::shared_ptr<AlignedBuffer> first_of(const at::Tensor& from, std::size_t count) {
  return copied_bytes(from.narrow(0, 0, static_cast<std::int64_t>(count)).cpu());
}

class TorchMath final : public DeviceMath {
 public:
  void divide(const Division& of, const at::Tensor& mean) const override {
    const bool is_exact = of.sums.scalar_type() == at::kLong;
    const double unit = is_exact ? std::ldexp(1.0, -of.fraction_bits) : 1.0;
    mean.copy_(of.sums.to(at::kDouble).mul_(unit).div_(static_cast<double>(of.tokens)));
  }

  void apply_sgd(const SgdCoefficients& c, const SgdTensors& at) const override {
    at.weights.mul_(c.decay);
    at.weights.sub_(at.gradient.mul(c.clip_scale), c.learning_rate);
    if (at.copy.defined()) at.copy.copy_(at.weights);
  }

  [[nodiscard]] std::unique_ptr<FlatMath> of_flat(std::vector<FlatSpan> spans, at::Device /*device*/) const override {
    return torch_flat_math(std::move(spans));
  }

  [[nodiscard]] std::unique_ptr<OuterArithmetic> of_outer(at::Device device) const override {
    return torch_outer_arithmetic(device);
  }

  void encode(const at::Tensor& values, const EncodedValues& into) const override {
    const TensorBlob plain = to_blob(values);
    const std::span of_plain(plain.as<float>(), into.shape.count);
    const std::uint32_t largest = largest_magnitude(of_plain.data(), of_plain.size());
    auto bytes = std::make_shared<AlignedBuffer>(room_of(into.shape));
    const TensorBlob from = is_carried(largest) ? *encode_values(into.shape.format, of_plain) : plain;
    const std::size_t header = is_carried(largest) ? kWireHeaderBytes : 0;
    std::memset(bytes->data(), 0, bytes->size());
    std::memcpy(bytes->data() + kWireHeaderBytes, from.bytes->data() + header, from.byte_count() - header);
    std::memcpy(bytes->data(), &largest, sizeof(largest));
    const auto count = static_cast<std::int64_t>(bytes->size());
    into.bytes.narrow(0, 0, count).copy_(borrow({DType::kUint8, {count}, std::move(bytes)}));
  }

  void decode(const EncodedValues& from, const at::Tensor& values) const override {
    std::uint32_t largest = 0;
    std::memcpy(&largest, first_of(from.bytes, sizeof(largest))->data(), sizeof(largest));
    const std::size_t plain_bytes = from.shape.count * sizeof(float);
    auto plain = std::make_shared<AlignedBuffer>(plain_bytes);
    if (is_carried(largest)) {
      const TensorBlob encoded = encoded_elsewhere(from.shape, first_of(from.bytes, encoded_bytes(from.shape)));
      decode_checked(encoded, from.shape.format, {reinterpret_cast<float*>(plain->data()), from.shape.count});
    } else {
      const auto there = first_of(from.bytes, kWireHeaderBytes + plain_bytes);
      std::memcpy(plain->data(), there->data() + kWireHeaderBytes, plain_bytes);
    }
    values.copy_(borrow({DType::kFloat32, values.sizes().vec(), std::move(plain)}));
  }

  void injure(DeviceInjury /*how*/) const override { throw std::logic_error("only kernels of ours injure a device"); }

  [[nodiscard]] LossAndGradient loss_and_gradient(const at::Tensor& logits_BTV,
                                                  const at::Tensor& targets_BT) const override {
    return shoal::loss_and_gradient(logits_BTV, targets_BT.to(at::kLong));
  }
};

}  // namespace

std::shared_ptr<const DeviceMath> torch_math() { return std::make_shared<TorchMath>(); }

}  // namespace shoal
