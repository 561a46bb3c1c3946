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

// The bytes of a dense tensor on the host, at the wire's alignment.
std::shared_ptr<AlignedBuffer> bytes_of(const at::Tensor& values, std::size_t count) {
  const at::Tensor host = values.cpu();
  auto bytes = std::make_shared<AlignedBuffer>(count);
  if (count > 0) std::memcpy(bytes->data(), host.const_data_ptr(), count);
  return bytes;
}

// The first bytes of `to`, which is uint8, become these.
void put(const TensorBlob& blob, const at::Tensor& to) {
  const TensorBlob bytes{DType::kUint8, {static_cast<std::int64_t>(blob.byte_count())}, blob.bytes};
  to.narrow(0, 0, bytes.shape[0]).copy_(borrow(bytes));
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
    const auto encoded = encode_values(into.shape.format, of_plain);
    put(encoded.ok() ? *encoded : plain, into.bytes);
    into.largest.fill_(static_cast<std::int32_t>(largest_magnitude(of_plain.data(), of_plain.size())));
  }

  void decode(const EncodedValues& from, const at::Tensor& values) const override {
    const bool is_plain = from.largest.defined() && !is_carried(static_cast<std::uint32_t>(from.largest.item<int>()));
    const std::size_t plain_bytes = from.shape.count * sizeof(float);
    TensorBlob plain{DType::kFloat32, values.sizes().vec(), nullptr};
    if (is_plain) {
      plain.bytes = bytes_of(from.bytes, plain_bytes);
    } else {
      const TensorBlob encoded = encoded_elsewhere(from.shape, bytes_of(from.bytes, encoded_bytes(from.shape)));
      auto decoded = std::make_shared<AlignedBuffer>(plain_bytes);
      decode_checked(encoded, from.shape.format, {reinterpret_cast<float*>(decoded->data()), from.shape.count});
      plain.bytes = std::move(decoded);
    }
    values.copy_(borrow(plain));
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
