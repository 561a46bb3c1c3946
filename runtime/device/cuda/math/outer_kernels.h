// The arithmetic of rounds by kernels, on a stage's stream: the processor's bits.
// Called within a turn of the device's queue; nothing here waits.
#pragma once

#include <memory>
#include <utility>

#include "runtime/device/outer/outer_math.h"
#include "runtime/device/queue/device_queue.h"

namespace shoal {

class OuterKernels final : public OuterArithmetic {
 public:
  explicit OuterKernels(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)) {}

  void delta(ConstValues base, ConstValues local, Values delta) const override;
  void nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor) const override;
  void average(Values outer, ConstValues gradient) const override;
  void blend(float mix, ConstValues outer, Values local) const override;
  void eager_gradient(const EagerWeights& weights, const EagerTensor& tensor) const override;

 private:
  std::shared_ptr<DeviceQueue> queue_;
};

}  // namespace shoal
