// Padded heads give the attention of the heads themselves, both ways, by an operator that the processor has.
#include "model/parts/padded_heads.h"

#include <cmath>

#include <gtest/gtest.h>

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

namespace shoal::padded_heads_test {
namespace {

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

struct Passed {
  at::Tensor y, dq, dk, dv;
};

struct Inputs {
  at::Tensor q, k, v, dy;
};

Inputs inputs_of(std::int64_t head_size) {
  const auto drawn = [head_size] { return at::randn({2, 11, 3, head_size}).transpose(1, 2); };
  return {drawn(), drawn(), drawn(), drawn()};
}

// Follows what the operator gives in the columns behind the heads.
struct Behind {
  double largest = 0;
  std::int64_t columns = 0;

  void add(const at::Tensor& x_BHTP, std::int64_t head_size) {
    columns = x_BHTP.size(3) - head_size;
    if (columns == 0) return;
    largest = std::max(largest, x_BHTP.narrow(3, head_size, columns).abs().max().item<double>());
  }
};

// scale_share: 1, or another one for a control.
Passed passed(const Inputs& x, std::int64_t size, Behind& behind, double scale_share = 1) {
  const std::int64_t own = x.q.size(3);
  const auto scaled = [&](std::optional<double> scale) { return scale ? std::optional(*scale * scale_share) : scale; };
  const auto [y, logsumexp] = attend_padded(size, x.q, x.k, x.v, [&](auto q, auto k, auto v, auto scale) {
    auto result = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, true, {}, scaled(scale));
    behind.add(std::get<0>(result), own);
    return result;
  });
  const auto backward = [&](const at::Tensor& dy, const DeviceAttention& of, std::optional<double> scale) -> Gradients {
    auto all = at::_scaled_dot_product_flash_attention_for_cpu_backward(dy, of.q_BHTD, of.k_BHTD, of.v_BHTD, of.y_BHTD,
                                                                        of.logsumexp_BHT, 0.0, true, {}, scaled(scale));
    behind.add(std::get<0>(all), own);
    behind.add(std::get<1>(all), own);
    behind.add(std::get<2>(all), own);
    return all;
  };
  const auto [dq, dk, dv] = attend_padded_backward(size, x.dy, {x.q, x.k, x.v, y, logsumexp}, backward);
  return {y, dq, dk, dv};
}

bool is_near(const Passed& one, const Passed& other) {
  return at::allclose(one.y, other.y, 1e-5, 1e-6) && at::allclose(one.dq, other.dq, 1e-5, 1e-6) &&
         at::allclose(one.dk, other.dk, 1e-5, 1e-6) && at::allclose(one.dv, other.dv, 1e-5, 1e-6);
}

TEST(PaddedHeads, GiveTheAttentionOfTheHeadsThemselves) {
  for (const auto& [own, size] : {std::pair(60, 64), std::pair(6, 8), std::pair(2, 8), std::pair(13, 16)}) {
    const Inputs x = inputs_of(own);
    Behind behind;
    const Passed plain = passed(x, own, behind);
    EXPECT_EQ(behind.columns, 0);
    const Passed padded = passed(x, size, behind);
    EXPECT_EQ(padded.y.sizes(), x.q.sizes());
    EXPECT_EQ(padded.dv.sizes(), x.v.sizes());
    EXPECT_TRUE(is_near(padded, plain)) << own;
    EXPECT_EQ(behind.columns, size - own);
    EXPECT_EQ(behind.largest, 0) << "what is cut off is nothing";
    const double of_padded_size = std::sqrt(static_cast<double>(own) / size);
    EXPECT_FALSE(is_near(passed(x, size, behind, of_padded_size), plain)) << "control: the scale of the padded size";
  }
}

TEST(PaddedHeads, OfTheKernelsSizePassAsTheyAre) {
  const Inputs x = inputs_of(64);
  EXPECT_TRUE(padded_heads(x.q, 64).is_same(x.q));
  EXPECT_TRUE(cut_heads(x.q, 64).is_same(x.q));
  EXPECT_EQ(scale_of_heads(64, 64), std::nullopt) << "the operator's own, whose bits were recorded";
  EXPECT_EQ(scale_of_heads(60, 64), 1 / std::sqrt(60.0));
}

}  // namespace
}  // namespace shoal::padded_heads_test
