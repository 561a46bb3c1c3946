// Compares what a stage's passes really hold, tensor by tensor, with what planning counts.
#include "model/pass_memory.h"

#include <gtest/gtest.h>

#include <ATen/Parallel.h>

#include "model/transformer.h"
#include "runtime/base/machine/bf16_units.h"
#include "tests/model/parts/part_bits.h"
#include "tests/model/tensor_memory.h"

namespace shoal::pass_memory_test {
namespace {

constexpr std::int64_t kSequences = 32;  // many tokens beside few weights

struct Held {
  double by_forward = 0;   // values per token, output and all
  double by_backward = 0;  // beside what was held when it began, at most
};

// Returns a stage in the middle of a model, of two blocks.
StagePlan middle_of(const ModelConfig& model) { return partition(model, 3).value()[1]; }

Held held_by_passes(const ModelConfig& model, Dropout dropout = {}) {
  const StagePlan plan = middle_of(model);
  const WeightMap weights = random_weights(plan, 0.1);
  const Transformer transformer(model, plan, weights);
  TensorMemory memory;
  const at::Tensor x = at::randn({kSequences, model.context, model.width});
  at::Tensor dy = at::randn({kSequences, model.context, model.width});
  const auto tokens = static_cast<double>(kSequences * model.context);
  const at::NoGradGuard no_graph;
  const auto values = [tokens](std::int64_t bytes) { return static_cast<double>(bytes) / 4 / tokens; };
  const std::int64_t given = memory.bytes();
  Tape tape(dropout, Tape::Keeps::kAll);
  Held held;
  {
    const at::Tensor y = transformer.forward(x, tape);
    held.by_forward = values(memory.bytes() - given);
  }
  ParameterGradients gradients(plan.tensors.size(), ParameterGradients::OfProjections::kAtOnce);
  memory.begin();
  const std::int64_t before = memory.bytes();
  static_cast<void>(transformer.backward(std::move(dy), tape, gradients));
  held.by_backward = values(memory.most() - before);
  return held;
}

ModelConfig gpt2() { return {.layers = 6, .heads = 4, .width = 32, .context = 128, .vocabulary = 37}; }

ModelConfig llama() {
  ModelConfig model = gpt2();
  model.kind = ModelKind::kLlama;
  model.hidden = 88;
  return model;
}

std::vector<ModelConfig> all_models() {
  std::vector<ModelConfig> models = {gpt2(), llama()};
  if (bf16_units() == "none") return models;
  for (std::size_t i = 0; i < 2; ++i) {
    models.push_back(models[i]);
    models.back().precision = Precision::kBf16;
  }
  return models;
}

void expect_within(double planned, double held, double share) { EXPECT_NEAR(planned, held, share * held); }

TEST(PassMemory, ATapeIsWhatPartsKeepAndTheMasksOfDropout) {
  at::set_num_threads(1);
  for (const ModelConfig& model : all_models()) {
    SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(model.kind) << " precision "
                                    << static_cast<int>(model.precision));
    const StagePlan plan = middle_of(model);
    ASSERT_EQ(plan.layer_count, 2);
    const double kept = held_by_passes(model).by_forward;
    expect_within(static_cast<double>(plan.kept_values) + model.width, kept, 0.06);
    ModelConfig dropping = model;
    dropping.dropout = 0.25;
    const double masks = held_by_passes(dropping, {.rate = 0.25, .seed = 5}).by_forward - kept;
    EXPECT_EQ(mask_values(plan, dropping), 4U * 32);
    expect_within(static_cast<double>(mask_values(plan, dropping)), masks, 0.01);
  }
}

TEST(PassMemory, ABackwardPassHoldsWhatPassesBesideTheTape) {
  at::set_num_threads(1);
  for (const ModelConfig& model : all_models()) {
    SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(model.kind) << " precision "
                                    << static_cast<int>(model.precision));
    const auto planned = static_cast<double>(passing_values(middle_of(model), model));
    const auto output_gradient = static_cast<double>(model.width);  // it was there
    expect_within(planned, held_by_passes(model).by_backward + output_gradient, 0.06);
  }
}

}  // namespace
}  // namespace shoal::pass_memory_test
