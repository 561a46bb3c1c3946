// A device that fails at one microbatch, whoever computes it: how tests make the fault that a quarantine is for.
//
// Asked for by the environment variable SHOAL_POISON = HOW:STEP/MB/STAGE, which workers inherit from whoever starts a
// run; nobody but a test sets it. HOW is `throw` (the stage's actor ends) or `abort` (its process does). In a run of
// one process (`--single`) the microbatch is left out instead: what is left of a run that quarantined it is that run,
// bit for bit in exact mode. Torch-free.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/device/decorators/forwarding_stage_executor.h"

namespace shoal {

struct Poison {
  enum class How : std::uint8_t { kThrow, kAbort };
  How how = How::kThrow;
  StepId step;
  MicrobatchId microbatch;
  StageId stage;
  friend bool operator==(const Poison&, const Poison&) = default;
};

// Errors: kUsage with what was expected.
[[nodiscard]] Result<Poison> parse_poison(const std::string& text);
// Nothing: the variable is not set.
[[nodiscard]] Result<std::optional<Poison>> poison_from_environment();

class PoisonedStageExecutor final : public ForwardingStageExecutor {
 public:
  PoisonedStageExecutor(std::unique_ptr<StageExecutor> device, const Poison& poison)
      : ForwardingStageExecutor(std::move(device)), poison_(poison) {}

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override;

 private:
  void fail_at(const MicrobatchWork& work) const;

  Poison poison_;
};

}  // namespace shoal
