// A stage on the CPU, through LibTorch.
//
// Weights are views of one flat buffer; gradients come out of autograd per microbatch and go straight into the step's
// accumulators. Microbatches in flight keep their graph, or with recompute = true their input alone; those that are
// answered and not accumulated keep the inputs and output gradients of their projections. Torch's own
// optimisers, generators and .grad fields are not used: exactly-once and equal bits need this path to be ours.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/partition.h"
#include "model/projection.h"
#include "model/transformer.h"
#include "runtime/base/config.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/gradient_sums.h"
#include "runtime/device/stage_state.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

class CpuStageExecutor final : public StageExecutor {
 public:
  CpuStageExecutor(const Config& config, StagePlan plan);

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
  [[nodiscard]] Status load_state(const TensorBlob& image) override { return state_.load(image); }
  [[nodiscard]] std::vector<std::string> tensor_names() const override;
  [[nodiscard]] TensorBlob contribute_round(std::uint32_t fragment) override {
    return state_.contribute_round(fragment);
  }
  [[nodiscard]] std::uint64_t apply_round(const RoundUpdate& update) override { return state_.apply_round(update); }
  std::vector<std::uint64_t> restart_from_outer() override { return state_.restart_from_outer(); }

 private:
  // A forward that waits for its backward. `output` holds the graph; it is undefined when it will be recomputed.
  struct Kept {
    MicrobatchWork work;
    at::Tensor input;
    at::Tensor output;
  };
  // A backward that is not accumulated yet: the weights' gradients that autograd gave, and what is left to compute.
  struct HalfDone {
    std::vector<at::Tensor> gradients;  // in the order of the layout; undefined: left for later
    LaterGradients later;
    AccumulateResult result;
  };
  // Start of autograd: d(sum of the loss)/d(root) is `gradient` (undefined: 1).
  struct Root {
    at::Tensor value;
    at::Tensor gradient;
  };

  [[nodiscard]] at::Tensor take_input(const MicrobatchWork& work, bool wants_gradient) const;
  [[nodiscard]] at::Tensor run(const MicrobatchWork& work, const at::Tensor& input, double dropout_rate) const;
  [[nodiscard]] BackwardResult differentiate(const Root& root, const at::Tensor& input, const MicrobatchWork& work,
                                             WeightGradients when);
  void use_threads() const;

  Config config_;
  StagePlan plan_;
  FlatLayout layout_;
  StageState state_;
  GradientSums sums_;
  std::vector<at::Tensor> weights_;  // in the order of the layout
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<Transformer> agreed_model_;  // holds what all replicas agree on: evaluated, never trained
  std::map<MicrobatchId, Kept> kept_;
  std::map<MicrobatchId, HalfDone> half_done_;
};

}  // namespace shoal
