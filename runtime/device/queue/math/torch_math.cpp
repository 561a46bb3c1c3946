// Fixed point in double: 24 bits of a float times a power of two, and a half beside them, are exact.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/device/digest.h"
#include "runtime/device/queue/math/flat_math.h"

namespace shoal {
namespace {

constexpr std::int64_t kNormPiece = 1 << 22;

// round(), halves away from zero.
at::Tensor rounded(const at::Tensor& values) {
  return at::where(values.lt(0), values.sub(0.5), values.add(0.5)).trunc_();
}

bool is_exact(const at::Tensor& sums) { return sums.scalar_type() == at::kLong; }

class TorchMath final : public DeviceMath {
 public:
  [[nodiscard]] at::Tensor add_within(const Addition& into, const at::Tensor& values) const override {
    const at::Tensor is_within = values.abs().le(into.limit).all();  // a comparison with NaN is false
    at::Tensor addend = values;
    if (is_exact(into.sums)) addend = rounded(values.to(at::kDouble).mul_(std::ldexp(1.0, into.fraction_bits)));
    addend = at::where(is_within, addend, at::zeros_like(addend)).to(into.sums.scalar_type());
    into.sums.add_(addend);
    return is_within;
  }

  void divide(const Division& of, const at::Tensor& mean) const override {
    const double unit = is_exact(of.sums) ? std::ldexp(1.0, -of.fraction_bits) : 1.0;
    mean.copy_(of.sums.to(at::kDouble).mul_(unit).div_(static_cast<double>(of.tokens)));
  }

  [[nodiscard]] at::Tensor squared_norm(const at::Tensor& values) const override {
    at::Tensor sum = at::zeros({}, at::TensorOptions(at::kDouble).device(values.device()));
    for (std::int64_t begin = 0; begin < values.numel(); begin += kNormPiece) {
      const at::Tensor piece = values.narrow(0, begin, std::min(kNormPiece, values.numel() - begin)).to(at::kDouble);
      sum.add_(piece.square().sum());
    }
    return sum;
  }

  void apply_adamw(const AdamwCoefficients& c, const AdamwTensors& at) const override {
    const at::Tensor gradient = at.gradient.mul(c.clip_scale);
    at.weights.mul_(c.decay);
    at.average.add_(gradient.sub(at.average), c.one_minus_beta1);
    at.average_sq.mul_(c.beta2).addcmul_(gradient, gradient, c.one_minus_beta2);
    at.weights.addcdiv_(at.average, at.average_sq.sqrt().div_(c.root_correction).add_(c.eps), -c.step_size);
    if (at.copy.defined()) at.copy.copy_(at.weights);
  }

  void apply_sgd(const SgdCoefficients& c, const SgdTensors& at) const override {
    at.weights.mul_(c.decay);
    at.weights.sub_(at.gradient.mul(c.clip_scale), c.learning_rate);
    if (at.copy.defined()) at.copy.copy_(at.weights);
  }

  [[nodiscard]] at::Tensor block_values(const at::Tensor& tensor) const override {
    const at::Tensor host = tensor.cpu();
    std::vector<std::uint64_t> values;
    append_block_values({static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes()}, values);
    const at::Tensor result = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
    if (!values.empty()) std::memcpy(result.mutable_data_ptr(), values.data(), values.size() * sizeof(std::uint64_t));
    return result;
  }

  [[nodiscard]] std::unique_ptr<FlatMath> of_flat(std::vector<FlatSpan> spans, at::Device /*device*/) const override {
    return one_after_another(*this, std::move(spans));
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
