// The outer step's arithmetic: PyTorch's Nesterov against a plain reference in double, the same bits for any split, and
// the exact corners (no mixing, one worker) that identities between variants rest on.
#include "model/outer_kernels.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/random_values.h"

namespace shoal::outer_kernels_test {
namespace {

// torch.optim.SGD(nesterov=True) in double, over several steps; `heavy_ball`: the control without the look ahead.
struct Reference {
  std::vector<double> outer, buffer;

  void step(const std::vector<float>& gradient, double learning_rate, double momentum, bool heavy_ball) {
    for (std::size_t i = 0; i < outer.size(); ++i) {
      buffer[i] = momentum * buffer[i] + static_cast<double>(gradient[i]);
      const double step = heavy_ball ? buffer[i] : static_cast<double>(gradient[i]) + momentum * buffer[i];
      outer[i] -= learning_rate * step;
    }
  }
};

TEST(OuterKernels, NesterovIsPyTorchs) {
  std::mt19937 random(3);
  constexpr std::size_t kCount = 500;
  std::vector<float> outer = normal(random, kCount, 0.1F);
  std::vector<float> momentum(kCount);
  Reference right{{outer.begin(), outer.end()}, std::vector<double>(kCount)};
  Reference wrong = right;
  for (int round = 0; round < 4; ++round) {
    const std::vector<float> gradient = normal(random, kCount, 0.01F);
    apply_nesterov({0.7F, 0.9F}, {outer, momentum, gradient});
    right.step(gradient, 0.7, 0.9, false);
    wrong.step(gradient, 0.7, 0.9, true);
  }
  double error = 0;
  double wrong_error = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    error = std::max(error, std::fabs(static_cast<double>(outer[i]) - right.outer[i]));
    wrong_error = std::max(wrong_error, std::fabs(static_cast<double>(outer[i]) - wrong.outer[i]));
  }
  EXPECT_LT(error, 1e-7);
  EXPECT_GT(wrong_error, 1e-3);
}

TEST(OuterKernels, AnAverageIsNesterovOfRateOneWithoutMomentumButLeavesTheMomentum) {
  std::mt19937 random(4);
  const std::vector<float> start = normal(random, 200, 0.1F);
  const std::vector<float> gradient = normal(random, 200, 0.01F);
  std::vector<float> averaged = start;
  apply_average(averaged, gradient);
  std::vector<float> stepped = start;
  std::vector<float> momentum(200);
  apply_nesterov({1.0F, 0.0F}, {stepped, momentum, gradient});
  EXPECT_EQ(averaged, stepped);
  EXPECT_EQ(momentum, gradient);
}

TEST(OuterKernels, BlendCopiesWithNoMixAndKeepsWithAllOfIt) {
  const std::vector<float> outer = {1.0F, -0.0F, 3.0F};
  const std::vector<float> start = {INFINITY, 0.0F, 5.0F};
  std::vector<float> local = start;
  blend(1.0F, outer, local);
  EXPECT_EQ(local, start);
  blend(0.5F, outer, local);
  EXPECT_EQ(local[2], 4.0F);
  blend(0.0F, outer, local);
  EXPECT_EQ(local, outer);
  EXPECT_TRUE(std::signbit(local[1])) << "a copy, not a sum with zero";
}

struct Eager {
  std::vector<float> base, local, mean, contribution, gradient;

  static Eager random(std::mt19937& random, std::size_t count) {
    return {normal(random, count, 1), normal(random, count, 1), normal(random, count, 0.1F),
            normal(random, count, 0.1F), std::vector<float>(count)};
  }
  void run(const EagerWeights& weights, std::size_t begin, std::size_t count) {
    const auto part = [&](auto& values) { return std::span(values).subspan(begin, count); };
    eager_gradient(weights, {part(base), part(local), part(mean), part(contribution), part(gradient)});
  }
};

TEST(OuterKernels, TheEagerGradientPutsTheNewestDeltaInPlaceOfTheOwnStaleOne) {
  std::mt19937 random(5);
  Eager eager = Eager::random(random, 100);
  const Eager before = eager;
  eager.run({300, 250, 1000}, 0, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    const double newest = static_cast<double>(before.base[i]) - static_cast<double>(before.local[i]);
    const double others =
        1000 * static_cast<double>(before.mean[i]) - 250 * static_cast<double>(before.contribution[i]);
    EXPECT_NEAR(eager.gradient[i], (300 * newest + others) / 1050, 1e-6);
    EXPECT_EQ(eager.contribution[i], before.base[i] - before.local[i]);
  }
}

TEST(OuterKernels, TheEagerGradientOfOneWorkerIsItsDeltaExactly) {
  std::mt19937 random(6);
  Eager eager = Eager::random(random, 300);
  eager.contribution = eager.mean;  // one worker's mean is what it contributed
  eager.run({80'000, 120'000, 120'000}, 0, 300);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(eager.gradient[i], eager.base[i] - eager.local[i]);
}

TEST(OuterKernels, TheEagerGradientOfNobodyIsZero) {
  std::mt19937 random(7);
  Eager eager = Eager::random(random, 10);
  eager.gradient.assign(10, 1.0F);
  eager.run({0, 5, 5}, 0, 10);
  EXPECT_EQ(eager.gradient, std::vector<float>(10));
}

TEST(OuterKernels, ADeltaWithoutWeightIsOneOfZerosWhateverItIs) {
  std::mt19937 random(8);
  const Eager start = Eager::random(random, 100);
  for (const float astray : {std::nanf(""), INFINITY, -INFINITY, 1e30F, 2.0F}) {
    Eager newest = start;
    newest.local.assign(100, astray);
    Eager nobodys = newest;
    newest.run({0, 250, 1000}, 0, 100);
    nobodys.run({0, 1000, 1000}, 0, 100);
    Eager stale = start;
    stale.contribution.assign(100, astray);
    stale.run({300, 0, 1000}, 0, 100);
    for (std::size_t i = 0; i < 100; ++i) {
      const double all = 1000 * static_cast<double>(start.mean[i]);
      EXPECT_EQ(newest.gradient[i], static_cast<float>((all - 250 * static_cast<double>(start.contribution[i])) / 750));
      const double own = static_cast<double>(start.base[i] - start.local[i]);
      EXPECT_EQ(stale.gradient[i], static_cast<float>((300 * own + all) / 1300));
    }
    EXPECT_EQ(newest.contribution, std::vector<float>(100));
    EXPECT_EQ(nobodys.contribution, std::vector<float>(100));
    EXPECT_EQ(nobodys.gradient, std::vector<float>(100));
  }
  Eager weighed = start;
  weighed.local[0] = std::nanf("");
  weighed.run({300, 250, 1000}, 0, 100);
  EXPECT_TRUE(std::isnan(weighed.gradient[0])) << "the control";
}

TEST(OuterKernels, GiveTheSameBitsForAnySplit) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t count = std::uniform_int_distribution<std::size_t>(1, 700)(random);
    std::vector<float> outer = normal(random, count, 0.1F);
    std::vector<float> momentum = normal(random, count, 0.01F);
    std::vector<float> local = normal(random, count, 0.1F);
    Eager eager = Eager::random(random, count);
    auto split = std::tuple(outer, momentum, local, eager);
    const auto run = [&](auto& all, std::size_t begin, std::size_t length) {
      auto& [own_outer, own_momentum, own_local, own_eager] = all;
      own_eager.run({3, 5, 11}, begin, length);
      const auto part = [&](auto& values) { return std::span(values).subspan(begin, length); };
      apply_nesterov({0.7F, 0.9F}, {part(own_outer), part(own_momentum), part(own_eager.gradient)});
      blend(0.3F, part(own_outer), part(own_local));
    };
    auto whole = split;
    run(whole, 0, count);
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t length = std::min(count - begin, std::uniform_int_distribution<std::size_t>(1, 100)(random));
      run(split, begin, length);
      begin += length;
    }
    ASSERT_EQ(std::get<0>(whole), std::get<0>(split));
    ASSERT_EQ(std::get<1>(whole), std::get<1>(split));
    ASSERT_EQ(std::get<2>(whole), std::get<2>(split));
    ASSERT_EQ(std::get<3>(whole).gradient, std::get<3>(split).gradient);
  }
}

}  // namespace
}  // namespace shoal::outer_kernels_test
