// A device of known speed: computes for real, then waits until the stated time per microbatch has passed.
//
// Torch-free. Pace P: forward and evaluate P, backward 2 P, forward_backward 3 P, counted from the call's start, or
// from when the device is done with what another stage on it was given before; P of a backward is the weights'
// gradients, which accumulate() waits for when they are left for later.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/device/decorators/forwarding_stage_executor.h"

namespace shoal {

// The device of a process, shared by its stages, each of which computes on a thread of its own: one thing at a time.
class PacedDevice {
 public:
  explicit PacedDevice(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}
  // Returns when it is done with what takes so long, and begins now at the earliest.
  [[nodiscard]] Instant reserve(Duration time) {
    const std::lock_guard lock(mutex_);
    busy_until_ = std::max(clock_->now(), busy_until_) + time;
    return busy_until_;
  }

 private:
  std::shared_ptr<const Clock> clock_;
  std::mutex mutex_;
  Instant busy_until_{};
};

class PacedStageExecutor final : public ForwardingStageExecutor {
 public:
  // Returns when it is that time, or later.
  using WaitUntil = std::function<void(Instant)>;

  PacedStageExecutor(std::unique_ptr<StageExecutor> device, Duration pace, std::shared_ptr<PacedDevice> shared,
                     WaitUntil wait_until);

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
  Duration pace_;
  std::shared_ptr<PacedDevice> shared_;
  WaitUntil wait_until_;
};

}  // namespace shoal
