// Initial weights depend on (seed, tensor name) alone and have the stated distribution.
#include "model/initial_weights.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/counter_random.h"

namespace shoal::initial_weights_test {
namespace {

std::vector<float> draw(const ModelConfig& model, std::uint64_t seed, const std::string& name) {
  for (const TensorSpec& tensor : whole_model(model).tensors) {
    if (tensor.name != name) continue;
    std::vector<float> values(static_cast<std::size_t>(element_count(tensor)));
    initial_weights(model, seed, tensor, values);
    return values;
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

double deviation(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(InitialWeights, AreTheGoldenValues) {
  const std::vector<float> wte = draw(ModelConfig{}, 1, "wte.weight");
  const float expected[] = {-0.00968804676F, 0.0236298405F,  -0.00195605378F,
                            0.0170603357F,   -0.0120802931F, 0.00431063585F};
  for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_FLOAT_EQ(wte[i], expected[i]) << i;
}

// A value of the tensor by the formula: Box and Muller's, of the words of its pair.
float normal_at(std::uint64_t seed, const std::string& name, double deviation, std::size_t index) {
  const auto words = philox4x32(philox_counter(index / 2, stream_of(name)), philox_key(seed));
  const double radius = deviation * std::sqrt(-2.0 * std::log(1.0 - uniform01(words[0], words[1])));
  const double angle = 2.0 * std::numbers::pi * uniform01(words[2], words[3]);
  return static_cast<float>(radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle)));
}

// Large tensors are drawn by several threads.
TEST(InitialWeights, AreThoseOfTheirIndexHoweverLargeTheTensor) {
  const ModelConfig model;
  for (const std::int64_t count : {1L, 2L, 7L, (1L << 18) - 1, (1L << 19) + 1, (1L << 20) + 3, 5L << 18}) {
    const TensorSpec tensor{.name = "large.weight", .shape = {count}, .initial = InitialValues::kNormal};
    std::vector<float> values(static_cast<std::size_t>(count) + 1, 7.0F);
    initial_weights(model, 5, tensor, std::span(values).first(values.size() - 1));
    std::size_t differing = 0;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      differing += values[i] == normal_at(5, tensor.name, model.init_std, i) ? 0U : 1U;
    }
    EXPECT_EQ(differing, 0U) << count;
    EXPECT_EQ(values.back(), 7.0F) << "nothing is written behind the tensor";
    EXPECT_NE(values.front(), normal_at(5, tensor.name, model.init_std, 1)) << "the control";
  }
}

TEST(InitialWeights, DoNotDependOnTheNumberOfLayersOrOnOtherTensors) {
  ModelConfig deep;
  deep.layers = 12;
  EXPECT_EQ(draw(ModelConfig{}, 1, "h.0.mlp.c_fc.weight"), draw(deep, 1, "h.0.mlp.c_fc.weight"));
}

TEST(InitialWeights, DifferBetweenSeedsAndNames) {
  const ModelConfig model;
  EXPECT_NE(draw(model, 1, "h.0.mlp.c_fc.weight"), draw(model, 2, "h.0.mlp.c_fc.weight"));
  EXPECT_NE(draw(model, 1, "h.0.mlp.c_fc.weight"), draw(model, 1, "h.1.mlp.c_fc.weight"));
}

TEST(InitialWeights, HaveTheStatedDeviation) {
  ModelConfig model;
  model.init_std = 0.5;
  EXPECT_NEAR(deviation(draw(model, 3, "h.1.mlp.c_fc.weight")), 0.5, 0.01);
  EXPECT_NEAR(deviation(draw(model, 3, "h.1.mlp.c_proj.weight")), 0.5 / std::sqrt(2.0 * model.layers), 0.01);
  EXPECT_NEAR(deviation(draw(model, 3, "h.1.attn.c_proj.weight")), 0.5 / std::sqrt(2.0 * model.layers), 0.01);
}

TEST(InitialWeights, NormsAreOneAndBiasesZero) {
  const ModelConfig model;
  const auto width = static_cast<std::size_t>(model.width);
  EXPECT_EQ(draw(model, 1, "ln_f.weight"), std::vector<float>(width, 1.0F));
  EXPECT_EQ(draw(model, 1, "h.0.ln_2.bias"), std::vector<float>(width, 0.0F));
  EXPECT_EQ(draw(model, 1, "h.0.mlp.c_fc.bias"), std::vector<float>(4 * width, 0.0F));
}

}  // namespace
}  // namespace shoal::initial_weights_test
