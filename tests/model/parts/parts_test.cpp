// Every part's backward has autograd's bits, at once and left for later, and a mistake in one is noticed.
#include "model/parts/branch.h"
#include "model/parts/loss.h"
#include "model/parts/make_part.h"
#include "model/transformer.h"
#include "runtime/base/machine/bf16_units.h"
#include "tests/model/parts/part_bits.h"

#include <algorithm>

#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn_like.h>
#include <ATen/record_function.h>

namespace shoal::parts_test {
namespace {

using OfProjections = ParameterGradients::OfProjections;

ModelConfig gpt2() { return {.layers = 2, .heads = 4, .width = 48, .context = 19, .vocabulary = 37}; }

ModelConfig llama() {
  ModelConfig model = gpt2();
  model.kind = ModelKind::kLlama;
  model.kv_heads = 2;
  model.head_size = 10;
  model.hidden = 80;
  return model;
}

ModelConfig qwen3() {
  ModelConfig model = llama();
  model.qk_norm = true;
  model.kv_heads = 1;
  return model;
}

// In both precisions where this processor has both.
std::vector<ModelConfig> all_models() {
  std::vector<ModelConfig> models = {gpt2(), llama(), qwen3()};
  if (bf16_units() == "none") return models;
  for (std::size_t i = 0; i < 3; ++i) {
    models.push_back(models[i]);
    models.back().precision = Precision::kBf16;
  }
  return models;
}

at::Tensor input_for(const ModelConfig& model, bool takes_tokens) {
  const std::int64_t T = model.context - 2;
  return takes_tokens ? at::randint(model.vocabulary, {3, T}, at::kLong) : at::randn({3, T, model.width});
}

Pass by_hand(const ModelPart& part, const StagePlan& plan, const at::Tensor& x, const at::Tensor& dy,
             OfProjections when) {
  const at::NoGradGuard no_graph;
  Tape tape({}, Tape::Keeps::kAll);
  ParameterGradients gradients(plan.tensors.size(), when);
  Pass pass;
  pass.y = part.forward(x, tape);
  const at::Tensor dx = part.backward(dy, tape, gradients);
  EXPECT_TRUE(tape.is_empty());
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) pass.gradients.push_back(gradients.take(i));
  if (dx.defined()) pass.gradients.push_back(dx);
  return pass;
}

void expect_autograds_bits(const ModelConfig& model, const PartSpec& spec) {
  const StagePlan plan = plan_of(spec);
  WeightMap weights = random_weights(plan);
  const at::Tensor x = input_for(model, std::holds_alternative<EmbeddingSpec>(spec));
  const auto part = make_part(spec, Parameters(plan, weights, model.precision));
  Tape nothing({}, Tape::Keeps::kNothing);
  const at::Tensor dy = at::randn_like(part->forward(x, nothing));
  const Pass expected = by_autograd(plan, weights, x, dy, [&](const at::Tensor& from) {
    return make_part(spec, Parameters(plan, weights, model.precision))->forward(from, nothing);
  });
  for (const OfProjections when : {OfProjections::kAtOnce, OfProjections::kLater}) {
    EXPECT_EQ(first_difference(plan, by_hand(*part, plan, x, dy, when), expected), "");
  }
  const at::Tensor wrong = dy.clone();
  wrong.view({-1})[7] += 1;
  EXPECT_NE(first_difference(plan, by_hand(*part, plan, x, wrong, OfProjections::kAtOnce), expected), "") << "control";
}

TEST(Parts, HaveAutogradsBitsBackwards) {
  at::set_num_threads(1);
  for (const ModelConfig& model : all_models()) {
    const auto layers = model_layers(model);
    for (const std::size_t layer : {std::size_t{0}, std::size_t{1}, layers.size() - 1}) {
      for (std::size_t part = 0; part < layers[layer].parts.size(); ++part) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(model.kind) << (model.qk_norm ? " qk" : "")
                                        << (model.precision == Precision::kBf16 ? " bf16" : "") << " layer " << layer
                                        << " part " << part);
        expect_autograds_bits(model, layers[layer].parts[part]);
      }
    }
  }
}

struct Stage {
  ModelConfig model;
  StagePlan plan;
  WeightMap weights;
  Dropout dropout;

  [[nodiscard]] Pass by_hand(const at::Tensor& x, const at::Tensor& dy) const {
    const at::NoGradGuard no_graph;
    const Transformer transformer(model, plan, weights);
    Tape tape(dropout, Tape::Keeps::kAll);
    ParameterGradients gradients(plan.tensors.size(), OfProjections::kLater);
    Pass pass;
    pass.y = transformer.forward(x, tape);
    const at::Tensor dx = transformer.backward(dy, tape, gradients);
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) pass.gradients.push_back(gradients.take(i));
    if (dx.defined()) pass.gradients.push_back(dx);
    return pass;
  }
  [[nodiscard]] Pass by_autograd(const at::Tensor& x, const at::Tensor& dy) {
    return shoal::by_autograd(plan, weights, x, dy, [&](const at::Tensor& from) {
      Tape tape(dropout, Tape::Keeps::kNothing);
      return Transformer(model, plan, weights).forward(from, tape);
    });
  }
};

TEST(Parts, OfAStageHaveAutogradsBitsWithDropoutToo) {
  at::set_num_threads(1);
  for (const ModelConfig& model : all_models()) {
    for (const double rate : {0.0, 0.3}) {
      const auto plans = partition(model, 2);
      for (const StagePlan& plan : *plans) {
        Stage stage{model, plan, random_weights(plan, 0.1), Dropout{.rate = rate, .seed = 5}};
        const at::Tensor x = input_for(model, plan.has_embedding);
        const at::Tensor dy = at::randn({3, x.size(1), plan.has_head ? model.vocabulary : model.width});
        const Pass expected = stage.by_autograd(x, dy);
        EXPECT_EQ(first_difference(plan, stage.by_hand(x, dy), expected), "");
        stage.dropout.rate = 0.31;
        EXPECT_NE(first_difference(plan, stage.by_hand(x, dy), expected), "") << "control";
      }
    }
  }
}

// The planted mistake: the branch's input is not added to the gradient.
class Forgetful final : public ModelPart {
 public:
  explicit Forgetful(std::unique_ptr<ModelPart> branch) : branch_(std::move(branch)) {}
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, Tape& tape) const override { return branch_->forward(x, tape); }
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    return branch_->backward(dy, tape, gradients).sub(dy);
  }

 private:
  std::unique_ptr<ModelPart> branch_;
};

TEST(Parts, ABackwardThatForgetsTheResidualIsNoticed) {
  const ModelConfig model = llama();
  const auto parts = model_layers(model)[1].parts;
  StagePlan plan = plan_of(parts[2]);
  for (const TensorSpec& tensor : tensors_of(parts[3])) plan.tensors.push_back(tensor);
  WeightMap weights = random_weights(plan);
  const auto branch = [&] {
    const Parameters parameters(plan, weights);
    return std::make_unique<Branch>(make_norm(std::get<NormSpec>(parts[2]), parameters),
                                    make_part(parts[3], parameters), DropoutPlace{});
  };
  const at::Tensor x = input_for(model, false);
  const at::Tensor dy = at::randn_like(x);
  const Pass expected = by_autograd(plan, weights, x, dy, [&](const at::Tensor& from) {
    Tape nothing({}, Tape::Keeps::kNothing);
    return branch()->forward(from, nothing);
  });
  EXPECT_EQ(first_difference(plan, by_hand(*branch(), plan, x, dy, OfProjections::kLater), expected), "");
  EXPECT_EQ(first_difference(plan, by_hand(Forgetful(branch()), plan, x, dy, OfProjections::kLater), expected),
            "the input");
}

TEST(Parts, TheLosssGradientHasAutogradsBits) {
  at::Tensor logits = at::randn({2, 5, 33}).requires_grad_(true);
  at::Tensor targets = at::randint(33, {2, 5}, at::kLong);
  targets.select(0, 1).select(0, 2).fill_(-1);
  const at::Tensor expected = loss_sum(logits, targets);
  const auto given = loss_and_gradient(logits.detach(), targets);
  EXPECT_TRUE(at::equal(given.loss_sum, expected.detach()));
  const at::Tensor gradient = torch::autograd::grad({expected}, {logits})[0];
  EXPECT_TRUE(at::equal(given.dlogits_BTV, gradient));
  targets.select(0, 1).select(0, 2).fill_(3);
  EXPECT_FALSE(at::equal(loss_and_gradient(logits.detach(), targets).dlogits_BTV, gradient)) << "control";
}

// Follows whether the logits are there when an operator begins.
struct LogitsWatch {
  static inline bool are_there = false;
  static inline std::vector<std::string> operators_with_them = {};

  static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& called) {
    if (are_there) operators_with_them.emplace_back(called.name());
    return nullptr;
  }
};

TEST(Parts, TheLossLetsGoOfTheLogitsOnceItHasTheirLogarithms) {
  std::vector<float> values(2 * 5 * 33);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 31) / 8;
  const at::Tensor targets = at::randint(33, {2, 5}, at::kLong);
  at::Tensor logits = at::from_blob(
      values.data(), {2, 5, 33}, [](void* /*values*/) { LogitsWatch::are_there = false; }, at::kFloat);
  LogitsWatch::are_there = true;
  LogitsWatch::operators_with_them.clear();
  const auto watch = at::addThreadLocalCallback(at::RecordFunctionCallback(LogitsWatch::begins));
  const auto given = loss_and_gradient(std::move(logits), targets);
  at::removeCallback(watch);
  const auto& with_them = LogitsWatch::operators_with_them;
  EXPECT_EQ(std::ranges::count(with_them, "aten::_log_softmax"), 1) << "the control";
  EXPECT_EQ(std::ranges::count(with_them, "aten::nll_loss_forward"), 0);
  EXPECT_EQ(std::ranges::count(with_them, "aten::_log_softmax_backward_data"), 0);
  EXPECT_EQ(given.dlogits_BTV.sizes(), at::IntArrayRef({2, 5, 33}));
}

TEST(ParameterGradients, HoldOneGradientForEachParameter) {
  const Parameter parameter{at::randn({3}), 1};
  ParameterGradients gradients(2, OfProjections::kLater);
  gradients.set(parameter, at::randn({3}));
  EXPECT_ANY_THROW(gradients.set(parameter, at::randn({3})));
  EXPECT_ANY_THROW(gradients.set_of_projection(parameter, [] { return at::randn({3}); }));
  EXPECT_TRUE(gradients.take(1).defined());
  EXPECT_ANY_THROW(static_cast<void>(gradients.take(1))) << "it was taken";
  EXPECT_ANY_THROW(static_cast<void>(gradients.take(0))) << "nothing was set";
}

}  // namespace
}  // namespace shoal::parts_test
