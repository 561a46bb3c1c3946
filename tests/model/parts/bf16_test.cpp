// Products, attention and the gate in bf16 against float32 and double, and mistakes that must be noticed.
#include "model/parts/bf16/attention.h"
#include "model/parts/bf16/product.h"
#include "model/parts/bf16/swiglu.h"
#include "model/parts/make_part.h"
#include "runtime/base/machine/bf16_units.h"
#include "tests/model/parts/part_bits.h"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/silu.h>

namespace shoal::bf16_test {
namespace {

class Bf16Parts : public testing::Test {
 protected:
  void SetUp() override {
    if (bf16_units() == "none") GTEST_SKIP() << "this processor has no units for bf16";
    at::set_num_threads(1);
  }
};

at::Tensor rounded(at::IntArrayRef sizes) { return at::randn(sizes).to(at::kBFloat16); }

// Mean distance, relative to the mean size of what is expected.
double error(const at::Tensor& made, const at::Tensor& expected) {
  const at::Tensor wide = expected.to(at::kDouble);
  return made.to(at::kDouble).sub(wide).abs().mean().item<double>() / wide.abs().mean().item<double>();
}

constexpr double kFloatError = 1e-6;
constexpr double kBf16Error = 4e-3;

TEST_F(Bf16Parts, ProductsAreThoseOfTheRoundedOperands) {
  for (const auto& [N, I, O] : {std::tuple{5, 7, 3}, std::tuple{96, 64, 80}, std::tuple{512, 96, 130}}) {
    const at::Tensor x = rounded({N, I});
    const at::Tensor weight = at::randn({I, O});
    const Bf16Factor factor{weight, weight.to(at::kBFloat16)};
    const Bf16Factor turned{weight.t().contiguous(), factor.copy.t().contiguous()};
    const Bf16Factor bias{at::randn({O}), {}};
    const at::Tensor exact = at::mm(x.to(at::kDouble), factor.copy.to(at::kDouble));
    EXPECT_LT(error(bf16_product(x, factor, {}, Orientation::kInOut, at::kFloat), exact), kFloatError);
    EXPECT_LT(error(bf16_product(x, turned, {}, Orientation::kOutIn, at::kFloat), exact), kFloatError);
    EXPECT_LT(error(bf16_product(x, factor, bias, Orientation::kInOut, at::kFloat), exact.add(bias.value)),
              kFloatError);
    const at::Tensor in_bf16 = bf16_product(x, factor, {}, Orientation::kInOut, at::kBFloat16);
    EXPECT_EQ(in_bf16.scalar_type(), at::kBFloat16);
    EXPECT_LT(error(in_bf16, exact), kBf16Error);
    EXPECT_GT(error(in_bf16, exact), 10 * kFloatError) << "control: it is rounded";
  }
}

TEST_F(Bf16Parts, GradientsOfWeightsAreNotRounded) {
  const at::Tensor x = rounded({300, 40});
  const at::Tensor dy = rounded({300, 24});
  const at::Tensor exact = at::mm(x.to(at::kDouble).t(), dy.to(at::kDouble));
  EXPECT_LT(error(bf16_weight_gradient(x, dy, Orientation::kInOut), exact), kFloatError);
  EXPECT_LT(error(bf16_weight_gradient(x, dy, Orientation::kOutIn), exact.t()), kFloatError);
  EXPECT_LT(error(bf16_bias_gradient(dy), dy.to(at::kDouble).sum(0)), kFloatError);
  EXPECT_GT(error(at::mm(x.t(), dy), exact), 100 * kFloatError) << "control: torch's operator rounds them";
}

AttentionInputs random_heads(std::int64_t T, std::int64_t D) {
  const auto parts = rounded({2, T, 9 * D}).split(3 * D, 2);
  const auto heads = [&](const at::Tensor& part) { return part.view({2, T, 3, D}).transpose(1, 2); };
  return {heads(parts[0]), heads(parts[1]), heads(parts[2])};
}

// In double; `shift`: how much of the future is seen.
at::Tensor plain_attention(const AttentionInputs& x, std::int64_t shift = 0) {
  const std::int64_t T = x.q_BHTD.size(2);
  const double root = std::sqrt(static_cast<double>(x.q_BHTD.size(3)));
  const at::Tensor scores = x.q_BHTD.matmul(x.k_BHTD.transpose(2, 3)).div(root);
  const at::Tensor hidden = at::ones({T, T}, at::kBool).triu(1 + shift);
  return scores.masked_fill(hidden, -INFINITY).softmax(3).matmul(x.v_BHTD);
}

TEST_F(Bf16Parts, AttentionAndItsGradientsAreThoseOfTheFormula) {
  for (const auto& [T, D] : {std::pair{1, 8}, std::pair{63, 10}, std::pair{64, 16}, std::pair{150, 64}}) {
    SCOPED_TRACE(testing::Message() << T << " tokens, heads of " << D);
    const AttentionInputs x = random_heads(T, D);
    const at::Tensor dy = rounded({2, T, 3, D}).transpose(1, 2);
    const auto wide = [](const at::Tensor& narrow) { return narrow.to(at::kDouble).requires_grad_(true); };
    const AttentionInputs exact{wide(x.q_BHTD), wide(x.k_BHTD), wide(x.v_BHTD)};
    const at::Tensor y = plain_attention(exact);
    const auto expected = torch::autograd::grad({y}, {exact.q_BHTD, exact.k_BHTD, exact.v_BHTD}, {dy.to(at::kDouble)});
    const AttentionResult made = bf16_attention(x.q_BHTD, x.k_BHTD, x.v_BHTD);
    const AttentionInputs dx = bf16_attention_backward(dy, x, made);
    EXPECT_LT(error(made.y_BHTD, y.detach()), kBf16Error);
    EXPECT_LT(error(dx.v_BHTD, expected[2]), 2 * kBf16Error);
    if (T == 1) continue;  // one weight of 1: nothing depends on queries and keys
    EXPECT_LT(error(dx.q_BHTD, expected[0]), 2 * kBf16Error);
    EXPECT_LT(error(dx.k_BHTD, expected[1]), 2 * kBf16Error);
    EXPECT_GT(error(made.y_BHTD, plain_attention(exact, 1).detach()), 4 * kBf16Error) << "control: a token ahead";
    EXPECT_GT(error(dx.k_BHTD, expected[0]), 4 * kBf16Error) << "control: keys for queries";
  }
}

TEST_F(Bf16Parts, AttentionHasTheSameBitsWithAnyThreadsAndStrides) {
  const AttentionInputs x = random_heads(130, 24);
  const at::Tensor dy = rounded({2, 130, 3, 24}).transpose(1, 2);
  const AttentionResult y = bf16_attention(x.q_BHTD, x.k_BHTD, x.v_BHTD);
  const AttentionInputs dx = bf16_attention_backward(dy, x, y);
  at::set_num_threads(2);
  const AttentionInputs dense{x.q_BHTD.contiguous(), x.k_BHTD.contiguous(), x.v_BHTD.contiguous()};
  const AttentionResult again = bf16_attention(dense.q_BHTD, dense.k_BHTD, dense.v_BHTD);
  const AttentionInputs dx_again = bf16_attention_backward(dy.contiguous(), dense, again);
  at::set_num_threads(1);
  EXPECT_TRUE(at::equal(y.y_BHTD, again.y_BHTD) && at::equal(y.logsumexp_BHT, again.logsumexp_BHT));
  EXPECT_TRUE(at::equal(dx.q_BHTD, dx_again.q_BHTD));
  EXPECT_TRUE(at::equal(dx.k_BHTD, dx_again.k_BHTD));
  EXPECT_TRUE(at::equal(dx.v_BHTD, dx_again.v_BHTD));
}

TEST_F(Bf16Parts, TheGateIsTorchs) {
  const at::Tensor gate = rounded({3, 401}).mul(3);
  const at::Tensor up = rounded({3, 401});
  const at::Tensor dy = rounded({3, 401});
  const at::Tensor g = gate.to(at::kDouble).requires_grad_(true);
  const at::Tensor u = up.to(at::kDouble).requires_grad_(true);
  const at::Tensor y = at::silu(g).mul(u);
  const auto expected = torch::autograd::grad({y}, {g, u}, {dy.to(at::kDouble)});
  EXPECT_LT(error(bf16_swiglu(gate, up), y.detach()), kBf16Error);
  const auto [dgate, dup] = bf16_swiglu_backward(gate, up, dy);
  EXPECT_LT(error(dgate, expected[0]), kBf16Error);
  EXPECT_LT(error(dup, expected[1]), kBf16Error);
  EXPECT_GT(error(dup, expected[0]), 10 * kBf16Error) << "control";
}

TEST_F(Bf16Parts, CopiesAreThoseOfTheWeightsWhenTheyWereWritten) {
  const at::Tensor weight = at::ones({4});
  Bf16Copies copies;
  const at::Tensor copy = copies.add(weight);
  weight.fill_(3);
  EXPECT_EQ(copy.sum().item<float>(), 4) << "control: not before";
  copies.write();
  EXPECT_EQ(copy.sum().item<float>(), 12);
}

}  // namespace
}  // namespace shoal::bf16_test
