// A device of known speed: computes for real, then waits until the stated time per microbatch has passed.
//
// Torch-free. Pace P: forward and evaluate P, backward 2 P, forward_backward 3 P, counted from the call's start.
#pragma once

#include <functional>
#include <memory>

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
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work) override;
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override;

 private:
  Duration pace_;
  std::shared_ptr<const Clock> clock_;
  WaitUntil wait_until_;
};

}  // namespace shoal
