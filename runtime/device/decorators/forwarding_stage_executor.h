// A device in front of another one: every call goes on to it.
//
// What changes a device derives from this and overrides the calls that it changes. Torch-free.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/stage_executor.h"

namespace shoal {

class ForwardingStageExecutor : public StageExecutor {
 public:
  explicit ForwardingStageExecutor(std::unique_ptr<StageExecutor> device) : device_(std::move(device)) {}

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override { return device_->forward(work); }
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                        WeightGradients when) override {
    return device_->backward(microbatch, output_gradient, when);
  }
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override {
    return device_->forward_backward(work, when);
  }
  [[nodiscard]] AccumulateResult accumulate(MicrobatchId microbatch) override {
    return device_->accumulate(microbatch);
  }
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
  [[nodiscard]] std::shared_ptr<ImageSource> image_source() override { return device_->image_source(); }
  [[nodiscard]] Result<bool> load_piece(const ImagePiece& piece) override { return device_->load_piece(piece); }
  [[nodiscard]] std::vector<std::string> tensor_names() const override { return device_->tensor_names(); }
  [[nodiscard]] TensorBlob contribute_round(std::uint32_t fragment) override {
    return device_->contribute_round(fragment);
  }
  [[nodiscard]] std::uint64_t apply_round(const RoundUpdate& update) override { return device_->apply_round(update); }
  std::vector<std::uint64_t> restart_from_outer() override { return device_->restart_from_outer(); }

 protected:
  std::unique_ptr<StageExecutor> device_;
};

}  // namespace shoal
