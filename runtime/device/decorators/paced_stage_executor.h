// A device of known speed: computes for real, then waits until the stated time per microbatch has passed.
//
// Torch-free. Pace P: forward and evaluate P, backward 2 P, forward_backward 3 P, counted from the call's start; P of a
// backward is the weights' gradients, which accumulate() waits for when they are left for later.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "runtime/base/clock.h"
#include "runtime/device/decorators/forwarding_stage_executor.h"

namespace shoal {

class PacedStageExecutor final : public ForwardingStageExecutor {
 public:
  // Returns when clock.now() >= its argument.
  using WaitUntil = std::function<void(Instant)>;

  PacedStageExecutor(std::unique_ptr<StageExecutor> device, Duration pace, std::shared_ptr<const Clock> clock,
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
  std::shared_ptr<const Clock> clock_;
  WaitUntil wait_until_;
};

}  // namespace shoal
