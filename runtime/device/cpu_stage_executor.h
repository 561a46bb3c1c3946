// A stage on the CPU, through LibTorch.
//
// Weights are views of one flat buffer; gradients come out of the model's backward per microbatch and go straight into
// the step's accumulators. Microbatches in flight keep their tape, or with recompute = true their input alone; those
// that are answered and not accumulated keep the inputs and output gradients of their projections. Torch's autograd,
// optimisers and generators are not used: exactly-once and equal bits need this path to be ours.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/partition.h"
#include "model/transformer.h"
#include "runtime/base/config.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/gradient_sums.h"
#include "runtime/device/stage_state.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

class CpuStageExecutor final : public StageExecutor {
 public:
  CpuStageExecutor(const Config& config, StagePlan plan, BeginsWith begins = BeginsWith::kInitialWeights);

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                        WeightGradients when) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override;
  [[nodiscard]] AccumulateResult accumulate(MicrobatchId microbatch) override;
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override;
  void zero() override;
  [[nodiscard]] TensorBlob contribution() const override;
  [[nodiscard]] ReducedSum adopt_sum(const TensorBlob& sum, std::uint64_t token_count) override;
  void apply(const UpdateOrder& order) override;
  void skip() override { zero(); }
  [[nodiscard]] std::uint64_t state_digest() const override { return state_.digest(); }
  [[nodiscard]] TensorBlob state_image() const override { return state_.image(); }
  [[nodiscard]] Status load_state(const TensorBlob& image) override;
  [[nodiscard]] std::shared_ptr<ImageSource> image_source() override { return state_.image_source(); }
  [[nodiscard]] Result<bool> load_piece(const ImagePiece& piece) override;
  [[nodiscard]] std::vector<std::string> tensor_names() const override;
  [[nodiscard]] TensorBlob contribute_round(std::uint32_t fragment) override {
    return state_.contribute_round(fragment);
  }
  [[nodiscard]] std::uint64_t apply_round(const RoundUpdate& update) override;
  std::vector<std::uint64_t> restart_from_outer() override;

 private:
  // A forward that waits for its backward. There is no tape where the forward will be computed again.
  struct Kept {
    MicrobatchWork work;
    std::optional<Tape> tape;
  };
  // A backward that is not accumulated yet.
  struct HalfDone {
    ParameterGradients gradients;  // in the order of the layout
    AccumulateResult result;
  };

  // Tokens or an activation; borrowed from the work, which must outlive it.
  [[nodiscard]] at::Tensor input_of(const MicrobatchWork& work) const;
  // gradient: of the stage's output, or of the logits; let go of as soon as the last part has taken it.
  [[nodiscard]] BackwardResult differentiate(at::Tensor gradient, Tape& tape, const MicrobatchWork& work,
                                             WeightGradients when);
  void use_threads() const;
  // The models over the weights as they are now.
  [[nodiscard]] const Transformer& trained_model() { return up_to_date(*model_, trained_is_stale_); }
  [[nodiscard]] const Transformer& agreed_model();
  [[nodiscard]] static const Transformer& up_to_date(const Transformer& model, bool& is_stale);
  void weights_changed() { trained_is_stale_ = agreed_is_stale_ = true; }

  Config config_;
  StagePlan plan_;
  FlatLayout layout_;
  StageState state_;
  GradientSums sums_;
  std::unique_ptr<Transformer> model_;
  // Holds what all replicas agree on: evaluated, never trained. None where that is what is trained.
  std::unique_ptr<Transformer> agreed_model_;
  bool trained_is_stale_ = false;  // the models' copies of weights are older than the weights
  bool agreed_is_stale_ = false;
  std::map<MicrobatchId, Kept> kept_;
  std::map<MicrobatchId, HalfDone> half_done_;
};

}  // namespace shoal
