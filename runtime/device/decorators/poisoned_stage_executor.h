// A device that fails at one microbatch, wherever it is computed: tests make the fault so that a quarantine is for.
// Which one, and how: `runtime/executor/poison_hook.h`. Torch-free.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "runtime/device/decorators/forwarding_stage_executor.h"
#include "runtime/executor/poison_hook.h"

namespace shoal {

class PoisonedStageExecutor final : public ForwardingStageExecutor {
 public:
  using Injure = std::function<void(DeviceInjury)>;

  // injure: called for a poison that injures the device; what the device computes next meets the fault.
  PoisonedStageExecutor(std::unique_ptr<StageExecutor> device, const Poison& poison, Injure injure = {})
      : ForwardingStageExecutor(std::move(device)), poison_(poison), injure_(std::move(injure)) {}

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override;

 private:
  void fail_at(const MicrobatchWork& work) const;

  Poison poison_;
  Injure injure_;
};

}  // namespace shoal
