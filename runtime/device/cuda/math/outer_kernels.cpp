// One launch for each operation on a tensor.
#include "runtime/device/cuda/math/outer_kernels.h"

#include "runtime/device/cuda/kernels/outer.h"
#include "runtime/device/cuda/math/launched.h"

namespace shoal {

void OuterKernels::delta(ConstValues base, ConstValues local, Values delta) const {
  check_launched(gpu::outer_delta(base.data(), local.data(), delta.data(), delta.size(), queue_->stream()),
                 "outer_delta");
}

void OuterKernels::nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor) const {
  const gpu::OuterArrays arrays{tensor.outer.data(), tensor.momentum.data(), tensor.gradient.data()};
  check_launched(gpu::apply_nesterov(coefficients, arrays, tensor.outer.size(), queue_->stream()), "apply_nesterov");
}

void OuterKernels::average(Values outer, ConstValues gradient) const {
  check_launched(gpu::apply_average(outer.data(), gradient.data(), outer.size(), queue_->stream()), "apply_average");
}

void OuterKernels::blend(float mix, ConstValues outer, Values local) const {
  check_launched(gpu::blend(mix, outer.data(), local.data(), local.size(), queue_->stream()), "blend");
}

void OuterKernels::eager_gradient(const EagerWeights& weights, const EagerTensor& tensor) const {
  const gpu::EagerArrays arrays{tensor.base.data(), tensor.local.data(), tensor.mean.data(), tensor.contribution.data(),
                                tensor.gradient.data()};
  check_launched(gpu::eager_gradient(weights, arrays, tensor.gradient.size(), queue_->stream()), "eager_gradient");
}

}  // namespace shoal
