// Computes by torch's operators what stands beside the sums over flat arrays.
#include <cmath>
#include <stdexcept>

#include "runtime/device/queue/math/flat_math.h"
#include "runtime/device/queue/math/torch_outer_arithmetic.h"

namespace shoal {
namespace {

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

  void injure(DeviceInjury /*how*/) const override { throw std::logic_error("only kernels of ours injure a device"); }

  [[nodiscard]] LossAndGradient loss_and_gradient(const at::Tensor& logits_BTV,
                                                  const at::Tensor& targets_BT) const override {
    return shoal::loss_and_gradient(logits_BTV, targets_BT.to(at::kLong));
  }
};

}  // namespace

std::shared_ptr<const DeviceMath> torch_math() { return std::make_shared<TorchMath>(); }

}  // namespace shoal
