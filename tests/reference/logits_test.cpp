// A Llama and a Qwen3 against transformers: recorded logits of the same weights (transformers_logits.py).
//
// |difference| <= 1e-4; another theta, eps, scaling or grouping, and a matrix that is transposed, leave that band.
#include "model/initial_weights.h"
#include "model/transformer.h"
#include "runtime/base/ensure.h"
#include "tests/reference/recipe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace shoal::logits_test {
namespace {

constexpr double kTolerance = 1e-4;

struct Recording {
  Config config;
  std::vector<double> logits;  // of every fifth position and every seventeenth token
};

Recording read_recording(const std::string& name) {
  const auto json = read_recipe(SHOAL_SOURCE_DIR, name);
  return {config_of(json), json.at("recorded").at("logits").get<std::vector<double>>()};
}

WeightMap weights_of(const Config& config, const StagePlan& plan) {
  WeightMap weights;
  for (const TensorSpec& spec : plan.tensors) {
    const at::Tensor values = at::empty(spec.shape, at::kFloat);
    initial_weights(config.model, config.run.seed, spec,
                    {values.mutable_data_ptr<float>(), static_cast<std::size_t>(values.numel())});
    weights[spec.name] = values;
  }
  return weights;
}

using Change = std::function<void(WeightMap&)>;

// `computed`: the model that is built, over the weights of `config`.
double largest_difference(const Recording& recording, const ModelConfig& computed, const Change& change = {}) {
  const at::NoGradGuard no_graph;
  const StagePlan plan = whole_model(recording.config.model);
  WeightMap weights = weights_of(recording.config, plan);
  if (change) change(weights);
  const std::int64_t T = computed.context;
  const at::Tensor tokens = at::empty({2, T}, at::kLong);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < T; ++t) tokens[b][t] = (31 * b + 7 * t * t + 3) % 256;
  }
  const at::Tensor logits = Transformer(computed, plan, weights).forward(tokens);
  const at::Tensor chosen = logits.slice(1, 0, T, 5).slice(2, 0, 256, 17).contiguous();
  ENSURE(static_cast<std::size_t>(chosen.numel()) == recording.logits.size(), "as many as were recorded");
  double largest = 0;
  for (std::size_t i = 0; i < recording.logits.size(); ++i) {
    largest = std::max(largest, std::fabs(chosen.const_data_ptr<float>()[i] - recording.logits[i]));
  }
  return largest;
}

TEST(Logits, AreThoseOfTransformers) {
  for (const std::string name : {"llama_logits", "qwen3_logits"}) {
    const Recording recording = read_recording(name);
    EXPECT_LE(largest_difference(recording, recording.config.model), kTolerance) << name;
  }
}

TEST(Logits, TellMistakesApart) {
  for (const std::string name : {"llama_logits", "qwen3_logits"}) {
    const Recording recording = read_recording(name);
    const std::vector<std::function<void(ModelConfig&)>> mistakes = {
        [](ModelConfig& model) { model.rope_theta *= 1.01; },
        [](ModelConfig& model) { model.norm_eps *= 1.1; },
        [](ModelConfig& model) {
          const bool is_scaled = model.rope_scaling != RopeScaling::kNone;
          model.rope_scaling = is_scaled ? RopeScaling::kNone : RopeScaling::kLinear;
          model.rope_factor = 2;
        },
    };
    for (std::size_t i = 0; i < mistakes.size(); ++i) {
      ModelConfig wrong = recording.config.model;
      mistakes[i](wrong);
      EXPECT_GT(largest_difference(recording, wrong), 2 * kTolerance) << name << ", mistake " << i;
    }
    const Change turn = [](WeightMap& weights) {
      at::Tensor& output = weights["model.layers.1.self_attn.o_proj.weight"];
      output = output.t().contiguous().view(output.sizes());
    };
    EXPECT_GT(largest_difference(recording, recording.config.model, turn), 2 * kTolerance) << "transposed";
  }
  const Recording recording = read_recording("llama_logits");
  const Change exchange = [](WeightMap& weights) {  // the keys of the two groups
    at::Tensor& keys = weights["model.layers.0.self_attn.k_proj.weight"];
    keys = keys.roll(keys.size(0) / 2, 0).contiguous();
  };
  EXPECT_GT(largest_difference(recording, recording.config.model, exchange), 2 * kTolerance) << "grouped otherwise";
}

}  // namespace
}  // namespace shoal::logits_test
