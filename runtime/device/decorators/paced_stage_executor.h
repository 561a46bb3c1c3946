// A device of known speed: computes for real, then waits until the stated time per microbatch has passed.
//
// Torch-free. Pace P: forward and evaluate P, backward 2 P, forward_backward 3 P, counted from the call's start, or
// from when the device is done with what another stage on it was given before; P of a backward is the weights'
// gradients, which accumulate() waits for when they are left for later. The pace may change with the device's age; a
// call has that of its begin.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/device/decorators/forwarding_stage_executor.h"
#include "runtime/executor/device_name.h"

namespace shoal {

// The device of a process, shared by its stages, each of which computes on a thread of its own: one thing at a time.
class PacedDevice {
 public:
  // pace: of a kPaced device; it is of age 0 now.
  PacedDevice(std::shared_ptr<const Clock> clock, DeviceName pace)
      : clock_(std::move(clock)), pace_(std::move(pace)), made_at_(clock_->now()) {}
  // Returns when it is done with so many times its pace, and begins now at the earliest.
  [[nodiscard]] Instant reserve(int paces);

 private:
  [[nodiscard]] Duration pace_at(Instant instant) const;

  std::shared_ptr<const Clock> clock_;
  DeviceName pace_;
  Instant made_at_;
  std::mutex mutex_;
  Instant busy_until_{};
};

class PacedStageExecutor final : public ForwardingStageExecutor {
 public:
  // Returns when it is that time, or later.
  using WaitUntil = std::function<void(Instant)>;

  PacedStageExecutor(std::unique_ptr<StageExecutor> device, std::shared_ptr<PacedDevice> shared, WaitUntil wait_until);

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                        WeightGradients when) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override;
  [[nodiscard]] AccumulateResult accumulate(MicrobatchId microbatch) override;
  void zero() override;
  void skip() override;
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override;

 private:
  [[nodiscard]] int halves(MicrobatchId microbatch, WeightGradients when);

  std::set<MicrobatchId> left_;  // microbatches whose weights' gradients are not computed yet
  std::shared_ptr<PacedDevice> shared_;
  WaitUntil wait_until_;
};

}  // namespace shoal
