// The parts of a llama against plain formulas, element by element in double, and mistakes that must be noticed.
#include "model/parts/make_part.h"
#include "model/parts/rotary.h"
#include "tests/model/parts/part_bits.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <ATen/ops/zeros.h>

namespace shoal::formulas_test {
namespace {

constexpr double kTolerance = 2e-6;

at::Tensor run(const PartSpec& spec, const WeightMap& weights, const at::Tensor& x) {
  Tape tape({}, Tape::Keeps::kNothing);
  return make_part(spec, Parameters(plan_of(spec), weights))->forward(x, tape);
}

double distance(const at::Tensor& one, const at::Tensor& other) {
  return one.to(at::kDouble).sub(other.to(at::kDouble)).abs().max().item<double>();
}

ModelConfig small_llama() {
  ModelConfig model{.kind = ModelKind::kLlama, .layers = 1, .heads = 6, .width = 24, .context = 7, .vocabulary = 11};
  model.kv_heads = 2;
  model.head_size = 6;
  model.hidden = 20;
  model.rope_theta = 50;
  return model;
}

at::Tensor rms(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = x.to(at::kDouble);
  return wide.div(wide.mul(wide).mean({-1}, true).add(eps).sqrt()).mul(weight);
}

TEST(Formulas, RmsNorm) {
  ModelConfig model = small_llama();
  model.norm_eps = 0.3;
  const PartSpec spec = model_layers(model)[1].parts[0];
  const WeightMap weights = random_weights(plan_of(spec));
  const at::Tensor x = at::randn({2, 5, 24});
  const at::Tensor& weight = weights.begin()->second;
  EXPECT_LT(distance(run(spec, weights, x), rms(x, weight, 0.3)), kTolerance);
  EXPECT_GT(distance(run(spec, weights, x), rms(x, weight, 0.31)), 100 * kTolerance) << "another eps";
}

TEST(Formulas, Swiglu) {
  const PartSpec spec = model_layers(small_llama())[1].parts[3];
  WeightMap w = random_weights(plan_of(spec));
  const at::Tensor x = at::randn({2, 5, 24});
  const auto product = [&](const at::Tensor& from, const std::string& name) {
    return from.matmul(w.at("model.layers.0.mlp." + name + "_proj.weight").to(at::kDouble).t());
  };
  const at::Tensor wide = x.to(at::kDouble);
  const auto plain = [&](const std::string& gate, const std::string& up) {
    const at::Tensor g = product(wide, gate);
    return product(g.div(g.neg().exp().add(1)).mul(product(wide, up)), "down");
  };
  EXPECT_LT(distance(run(spec, w, x), plain("gate", "up")), 10 * kTolerance);
  EXPECT_GT(distance(run(spec, w, x), plain("up", "gate")), 1e-2) << "gate and up exchanged";
}

// A turn by hand: elements i and i + D/2 of a head as a point of the plane.
at::Tensor turned(const at::Tensor& x_TD, const std::vector<double>& frequencies) {
  at::Tensor out = x_TD.clone();
  const std::int64_t half = x_TD.size(1) / 2;
  for (std::int64_t t = 0; t < x_TD.size(0); ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * frequencies[static_cast<std::size_t>(i)];
      const double a = x_TD[t][i].item<double>();
      const double b = x_TD[t][i + half].item<double>();
      out[t][i] = a * std::cos(angle) - b * std::sin(angle);
      out[t][i + half] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  return out;
}

std::vector<double> plain_frequencies(double theta, std::int64_t size) {
  std::vector<double> found;
  for (std::int64_t i = 0; i < size / 2; ++i) {
    found.push_back(1 / std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(size)));
  }
  return found;
}

TEST(Formulas, RotaryPositions) {
  const RotarySpec spec{.head_size = 6, .theta = 50};
  const at::Tensor x = at::randn({1, 1, 7, 6});
  const at::Tensor ours = Rotary(spec, 7, at::kCPU).forward(x)[0][0];
  const at::Tensor wide = x[0][0].to(at::kDouble);
  EXPECT_LT(distance(ours, turned(wide, plain_frequencies(50, 6))), kTolerance);
  EXPECT_GT(distance(ours, turned(wide, plain_frequencies(51, 6))), 1e-3) << "another theta";
}

TEST(Formulas, RotaryScaling) {
  const RotarySpec none{.head_size = 64, .theta = 500000};
  RotarySpec linear = none;
  linear.scaling = RopeScaling::kLinear;
  linear.factor = 4;
  RotarySpec llama3 = linear;
  llama3.scaling = RopeScaling::kLlama3;
  llama3.factor = 32;
  llama3.original_context = 8192;
  const auto plain = rotary_frequencies(none);
  const auto stretched = rotary_frequencies(linear);
  const auto mixed = rotary_frequencies(llama3);
  const double pi = std::acos(-1.0);
  std::size_t between = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_FLOAT_EQ(stretched[i], plain[i] / 4);
    const double wavelength = 2 * pi / plain[i];
    if (wavelength < 8192 / 4.0) {
      EXPECT_FLOAT_EQ(mixed[i], plain[i]);
    } else if (wavelength > 8192) {
      EXPECT_FLOAT_EQ(mixed[i], plain[i] / 32);
    } else {
      const double smooth = (8192 / wavelength - 1) / (4 - 1);
      EXPECT_NEAR(mixed[i], (1 - smooth) * plain[i] / 32 + smooth * plain[i], 1e-6 * plain[i]);
      ++between;
    }
  }
  EXPECT_GT(between, 0U);
}

// Attention head by head: query head h reads the keys and values of head `group(h)`.
template <class Group>
at::Tensor plain_attention(const ModelConfig& model, const WeightMap& w, const at::Tensor& x_TC, const Group& group) {
  const std::string prefix = "model.layers.0.self_attn.";
  const std::int64_t D = model.head_size;
  const std::int64_t T = x_TC.size(0);
  const auto frequencies = plain_frequencies(model.rope_theta, D);
  const auto weight = [&](const std::string& name) { return w.at(prefix + name + ".weight").to(at::kDouble); };
  const auto head = [&](const std::string& name, std::int64_t h) {
    return x_TC.matmul(weight(name + "_proj").t()).narrow(1, h * D, D);
  };
  const auto normal = [&](const at::Tensor& y, const std::string& name) {
    return model.qk_norm ? rms(y, weight(name), model.norm_eps) : y;
  };
  at::Tensor out = at::zeros({T, model.heads * D}, at::kDouble);
  for (std::int64_t h = 0; h < model.heads; ++h) {
    const at::Tensor q = turned(normal(head("q", h), "q_norm"), frequencies);
    const at::Tensor k = turned(normal(head("k", group(h)), "k_norm"), frequencies);
    const at::Tensor scores = q.matmul(k.t()).div(std::sqrt(static_cast<double>(D)));
    const at::Tensor hidden = at::zeros({T, T}, at::kBool);
    for (std::int64_t t = 0; t < T; ++t) hidden[t].narrow(0, t + 1, T - t - 1).fill_(true);
    const at::Tensor shares = scores.masked_fill(hidden, -1e30).softmax(-1);
    out.narrow(1, h * D, D).copy_(shares.matmul(head("v", group(h))));
  }
  return out.matmul(weight("o_proj").t());
}

TEST(Formulas, AttentionOfGroups) {
  for (const bool qk_norm : {false, true}) {
    ModelConfig model = small_llama();
    model.qk_norm = qk_norm;
    const PartSpec spec = model_layers(model)[1].parts[1];
    const WeightMap weights = random_weights(plan_of(spec));
    const at::Tensor x = at::randn({1, 7, 24});
    const at::Tensor ours = run(spec, weights, x)[0];
    const at::Tensor wide = x[0].to(at::kDouble);
    const auto in_rows = [](std::int64_t h) { return h / 3; };
    EXPECT_LT(distance(ours, plain_attention(model, weights, wide, in_rows)), 10 * kTolerance);
    const auto by_turns = [](std::int64_t h) { return h % 2; };
    EXPECT_GT(distance(ours, plain_attention(model, weights, wide, by_turns)), 1e-2) << "queries grouped otherwise";
    model.rope_theta = 60;
    EXPECT_GT(distance(ours, plain_attention(model, weights, wide, in_rows)), 1e-3) << "another theta";
  }
}

}  // namespace
}  // namespace shoal::formulas_test
