// Copies what is read to the host, and what was written back. Of the host's own memory there is no copy.
#include "runtime/device/queue/math/torch_outer_arithmetic.h"

#include <span>

#include "runtime/device/host_tensor.h"

namespace shoal {
namespace {

// An array of the device as the host sees it.
class Seen {
 public:
  Seen(std::span<const float> values, at::Device device)
      : there_(tensor_over(values, device)), here_(there_.to(at::kCPU)) {}

  [[nodiscard]] std::span<float> values() const {
    return {here_.mutable_data_ptr<float>(), static_cast<std::size_t>(here_.numel())};
  }
  void write_back() const {
    if (!there_.is_cpu()) there_.copy_(here_);
  }

 private:
  at::Tensor there_;
  at::Tensor here_;
};

class TorchOuterArithmetic final : public OuterArithmetic {
 public:
  explicit TorchOuterArithmetic(at::Device device) : device_(device) {}

  void delta(ConstValues base, ConstValues local, Values delta) const override {
    const Seen to = seen(delta);
    outer_delta(seen(base).values(), seen(local).values(), to.values());
    to.write_back();
  }
  void nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor) const override {
    const Seen outer = seen(tensor.outer), momentum = seen(tensor.momentum), gradient = seen(tensor.gradient);
    apply_nesterov(coefficients, {outer.values(), momentum.values(), gradient.values()});
    outer.write_back();
    momentum.write_back();
  }
  void average(Values outer, ConstValues gradient) const override {
    const Seen to = seen(outer);
    apply_average(to.values(), seen(gradient).values());
    to.write_back();
  }
  void blend(float mix, ConstValues outer, Values local) const override {
    const Seen to = seen(local);
    shoal::blend(mix, seen(outer).values(), to.values());
    to.write_back();
  }
  void eager_gradient(const EagerWeights& weights, const EagerTensor& tensor) const override {
    const Seen contribution = seen(tensor.contribution), gradient = seen(tensor.gradient);
    shoal::eager_gradient(weights, {seen(tensor.base).values(), seen(tensor.local).values(), seen(tensor.mean).values(),
                                    contribution.values(), gradient.values()});
    contribution.write_back();
    gradient.write_back();
  }

 private:
  [[nodiscard]] Seen seen(ConstValues values) const { return {values, device_}; }

  at::Device device_;
};

}  // namespace

std::unique_ptr<OuterArithmetic> torch_outer_arithmetic(at::Device device) {
  return std::make_unique<TorchOuterArithmetic>(device);
}

}  // namespace shoal
