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

#include "runtime/pipeline/stage_executor.h"

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

class PoisonedStageExecutor final : public StageExecutor {
 public:
  PoisonedStageExecutor(std::unique_ptr<StageExecutor> device, const Poison& poison)
      : device_(std::move(device)), poison_(poison) {}

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient) override {
    return device_->backward(microbatch, output_gradient);
  }
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work) override;
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override { return device_->evaluate(work); }
  void zero() override { device_->zero(); }
  [[nodiscard]] TensorBlob contribution() const override { return device_->contribution(); }
  [[nodiscard]] ReducedSum adopt_sum(const TensorBlob& sum, std::uint64_t token_count) override {
    return device_->adopt_sum(sum, token_count);
  }
  void apply(const UpdateOrder& order) override { device_->apply(order); }
  void skip() override { device_->skip(); }
  [[nodiscard]] std::uint64_t state_digest() const override { return device_->state_digest(); }
  [[nodiscard]] TensorBlob state_image() const override { return device_->state_image(); }
  [[nodiscard]] Status load_state(const TensorBlob& image) override { return device_->load_state(image); }
  [[nodiscard]] std::vector<std::string> tensor_names() const override { return device_->tensor_names(); }

 private:
  void fail_at(const MicrobatchWork& work) const;

  std::unique_ptr<StageExecutor> device_;
  Poison poison_;
};

}  // namespace shoal
