// A stage's device for tests: its "gradient" records which microbatches of which step it was given, and how often.
//
// The accumulators are one element per microbatch of the step; one pass over microbatch m of step t adds
// gradient_of(t), so a whole step's sum is that number everywhere exactly if each was counted once (S-1). It Ensures
// what the real one relies on: inputs that belong to their microbatch, a graph before a backward, a sum before an
// apply.
//
// With sync.mode = diloco an apply adds the sum to the weights, so that base - weights is minus what this replica has
// trained since, microbatch by microbatch. Weight m belongs to fragment m mod fragments. A round's mean is subtracted
// from the outer weights and added to a momentum that only the digest sees; eager, delayed and mix are the real ones'.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

// One accumulated pass: who gave its activation, who computed its gradient, and on whose activation.
struct FakePass {
  std::int64_t input_from = 0;
  std::int64_t gradient_from = 0;
  std::int64_t gradient_on = 0;
};
// The last of every replica, step and microbatch.
using FakePasses = std::map<std::tuple<Incarnation, StepId, MicrobatchId>, FakePass>;

// The step and microbatch that a sample was made for, by who took it in for which step and microbatch.
using FakeSamples = std::map<std::tuple<Incarnation, StepId, MicrobatchId>, std::pair<StepId, MicrobatchId>>;

struct FakeShape {
  std::uint32_t stage = 0;
  std::uint32_t stage_count = 1;
  std::uint32_t microbatch_count = 1;
  DType dtype = DType::kInt64;  // type of contributions: kInt64 or kFloat32
  SyncConfig sync = {};         // rounds, with mode = diloco
  Incarnation self = {};        // with passes: what it computes says who did, and on whose input
  std::shared_ptr<FakePasses> passes = nullptr;
  // Set: stage 0 takes the sample of any microbatch, and says here which it was.
  std::shared_ptr<FakeSamples> samples = nullptr;
};

class FakeExecutor final : public StageExecutor {
 public:
  explicit FakeExecutor(FakeShape shape);

  static constexpr std::uint64_t kTokens = 10;  // tokens of every microbatch
  [[nodiscard]] static std::int64_t gradient_of(StepId step) { return 1 + 100 * static_cast<std::int64_t>(step.value); }
  // Returns a stage's input for this microbatch: stage 0 its tokens, later ones the activation of the stage before.
  [[nodiscard]] static TensorBlob input_of(std::uint32_t stage, StepId step, MicrobatchId microbatch);

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
  void skip() override;
  [[nodiscard]] std::uint64_t state_digest() const override;
  [[nodiscard]] TensorBlob state_image() const override;
  [[nodiscard]] Status load_state(const TensorBlob& image) override;
  [[nodiscard]] std::shared_ptr<ImageSource> image_source() override;
  [[nodiscard]] Result<bool> load_piece(const ImagePiece& piece) override;
  [[nodiscard]] std::vector<std::string> tensor_names() const override { return {"fake.weight"}; }
  [[nodiscard]] TensorBlob contribute_round(std::uint32_t fragment) override;
  [[nodiscard]] std::uint64_t apply_round(const RoundUpdate& update) override;
  std::vector<std::uint64_t> restart_from_outer() override;

  // Every sum that was applied, in order: steps x microbatches.
  [[nodiscard]] const std::vector<std::vector<std::int64_t>>& applied_sums() const { return applied_sums_; }
  [[nodiscard]] const std::vector<std::int64_t>& accumulators() const { return accumulators_; }
  [[nodiscard]] std::uint64_t last_token_count() const { return token_count_; }
  // The next pass over this microbatch reports this tensor as beyond range.
  void poison(MicrobatchId microbatch) { poisoned_.insert(microbatch); }
  // Called where this microbatch is computed: its forward (or loss), or its backward. It may throw.
  enum class Pass : std::uint8_t { kForward, kBackward };
  void set_trap(StepId step, MicrobatchId microbatch, Pass pass, std::function<void()> trap) {
    trap_ = {step, microbatch, pass, std::move(trap)};
  }

 private:
  struct Trap {
    StepId step;
    MicrobatchId microbatch;
    Pass pass = Pass::kForward;
    std::function<void()> call;
  };

  void spring_trap(StepId step, MicrobatchId microbatch, Pass pass) const;
  void check_input(const MicrobatchWork& work) const;
  [[nodiscard]] BackwardResult differentiate(StepId step, MicrobatchId microbatch, FakePass pass);
  [[nodiscard]] TensorBlob signed_by(TensorBlob blob, std::int64_t input_from) const;
  void empty_step();
  [[nodiscard]] bool has_rounds() const { return shape_.sync.mode == SyncMode::kDiloco; }
  [[nodiscard]] std::vector<std::size_t> elements_of(std::uint32_t fragment) const;
  [[nodiscard]] std::uint64_t outer_digest(std::uint32_t fragment) const;

  // One weight's outer side.
  struct Outer {
    double agreed = 0;
    double momentum = 0;
    double base = 0;          // value that the next contribution is measured from
    double contribution = 0;  // eager: the last one that was sent
  };

  FakeShape shape_;
  std::vector<std::int64_t> accumulators_;
  struct Kept {
    StepId step;
    std::int64_t input_from = 0;
  };
  std::map<MicrobatchId, Kept> kept_;
  std::map<MicrobatchId, StepId> half_done_;  // differentiated and not accumulated
  std::set<MicrobatchId> poisoned_;
  Trap trap_;
  std::optional<std::vector<std::int64_t>> sum_;
  std::uint64_t token_count_ = 0;
  std::vector<std::int64_t> weights_;
  std::vector<Outer> outer_;  // diloco
  std::vector<std::vector<std::int64_t>> applied_sums_;
  std::vector<std::byte> pieces_;  // of an image that is being loaded
};

// A tensor of these values: int64 or float32 [n].
[[nodiscard]] TensorBlob make_values(DType dtype, const std::vector<std::int64_t>& values);
// Those of an image, whose type is bytes, are int64.
[[nodiscard]] std::vector<std::int64_t> values_of(const TensorBlob& blob);
// The int64 tensor whose bytes came in pieces.
[[nodiscard]] TensorBlob joined_values(const std::vector<std::byte>& pieces);

}  // namespace shoal
