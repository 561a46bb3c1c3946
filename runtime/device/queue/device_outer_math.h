// Outer parameters on a device: their arrays in its memory, the arithmetic of its DeviceMath, digests by its FlatMath.
//
// Called within a turn of the device's queue.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/device/outer/outer_math.h"
#include "runtime/device/queue/math/flat_math.h"

namespace shoal {

class DeviceOuterMath final : public OuterMath {
 public:
  // `flat` is of the layout whose arrays are digested; it and `math` must outlive this.
  DeviceOuterMath(const FlatMath& flat, const DeviceMath& math, at::Device device)
      : flat_(flat), arithmetic_(math.of_outer(device)), device_(device) {}

  [[nodiscard]] Values zeros(std::size_t count) override;
  void copy(ConstValues from, Values to) const override;
  void clear(Values values) const override;
  void delta(ConstValues base, ConstValues local, Values delta) const override {
    arithmetic_->delta(base, local, delta);
  }
  void nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor) const override {
    arithmetic_->nesterov(coefficients, tensor);
  }
  void average(Values outer, ConstValues gradient) const override { arithmetic_->average(outer, gradient); }
  void blend(float mix, ConstValues outer, Values local) const override { arithmetic_->blend(mix, outer, local); }
  void eager_gradient(const EagerWeights& weights, const EagerTensor& tensor) const override {
    arithmetic_->eager_gradient(weights, tensor);
  }
  [[nodiscard]] std::uint64_t digest(const Digested& of) const override;

 private:
  const FlatMath& flat_;
  std::unique_ptr<OuterArithmetic> arithmetic_;
  at::Device device_;
  std::vector<at::Tensor> memory_;
};

}  // namespace shoal
