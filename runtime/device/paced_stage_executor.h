// A device of known speed: computes for real, then waits until the stated time per microbatch has passed.
//
// Torch-free. Pace P: forward and evaluate P, backward 2 P, forward_backward 3 P, counted from the call's start.
#pragma once

#include <functional>
#include <memory>

#include "runtime/base/clock.h"
#include "runtime/pipeline/stage_executor.h"

namespace shoal {

class PacedStageExecutor final : public StageExecutor {
 public:
  // Returns when clock.now() >= its argument.
  using WaitUntil = std::function<void(Instant)>;

  PacedStageExecutor(std::unique_ptr<StageExecutor> device, Duration pace, std::shared_ptr<const Clock> clock,
                     WaitUntil wait_until);

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work) override;
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override;
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
  std::unique_ptr<StageExecutor> device_;
  Duration pace_;
  std::shared_ptr<const Clock> clock_;
  WaitUntil wait_until_;
};

}  // namespace shoal
