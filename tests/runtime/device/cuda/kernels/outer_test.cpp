// The outer step by kernels: the bits of the CPU's loops.
#include "runtime/device/cuda/kernels/outer.h"

#include "model/outer_kernels.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::outer_test {
namespace {

constexpr std::size_t kCount = 777;

std::vector<float> drawn(unsigned seed) {
  std::mt19937 random(seed);
  return normal(random, kCount, 0.3F);
}

TEST(OuterKernel, NesterovGivesTheBitsOfTheCpuAndTheFormulaInFloat64) {
  const OuterCoefficients k{0.7F, 0.9F};
  std::vector<float> outer = drawn(1), momentum = drawn(2);
  shoal::apply_nesterov(k, {outer, momentum, drawn(3)});
  std::vector<double> in_float64;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double g = drawn(3)[i];
    const double buffer = 0.9 * drawn(2)[i] + g;
    in_float64.push_back(drawn(1)[i] - 0.7 * (g + 0.9 * buffer));
  }
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> o(drawn(1)), m(drawn(2)), g(drawn(3));
    EXPECT_EQ(apply_nesterov(k, {o.at(), m.at(), g.at()}, kCount, nullptr), kLaunched);
    return are_same(o.values(), outer) && are_same(m.values(), momentum) && distance(o.values(), in_float64) < 1e-6;
  });
  EXPECT_FALSE(are_same(outer, drawn(1)));
}

TEST(OuterKernel, DeltaAndAverageGiveTheBitsOfTheCpu) {
  std::vector<float> delta(kCount), outer = drawn(1);
  shoal::outer_delta(drawn(1), drawn(2), delta);
  shoal::apply_average(outer, delta);
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> base(drawn(1)), local(drawn(2)), difference(kCount);
    EXPECT_EQ(outer_delta(base.at(), local.at(), difference.at(), kCount, nullptr), kLaunched);
    EXPECT_EQ(apply_average(base.at(), difference.at(), kCount, nullptr), kLaunched);
    return are_same(difference.values(), delta) && are_same(base.values(), outer);
  });
}

TEST(OuterKernel, BlendingGivesTheBitsOfTheCpu) {
  for (const float mix : {0.0F, 0.3F, 1.0F}) {
    std::vector<float> wanted = drawn(5);
    shoal::blend(mix, drawn(4), wanted);
    DeviceArray<float> outer(drawn(4)), local(drawn(5));
    ASSERT_EQ(blend(mix, outer.at(), local.at(), kCount, nullptr), kLaunched);
    EXPECT_TRUE(are_same(local.values(), wanted)) << mix;
  }
  std::vector<float> wanted = drawn(5);
  shoal::blend(0.3F, drawn(4), wanted);
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> outer(drawn(4)), local(drawn(5));
    EXPECT_EQ(blend(0.3F, outer.at(), local.at(), kCount, nullptr), kLaunched);
    return are_same(local.values(), wanted);
  });
}

TEST(OuterKernel, EagerGradientsGiveTheBitsOfTheCpu) {
  const EagerWeights cases[] = {{100, 50, 200}, {100, 0, 0}, {0, 50, 200}, {0, 0, 0}, {0, 200, 200}};
  for (const EagerWeights& weights : cases) {
    std::vector<float> contribution = drawn(4), gradient(kCount);
    std::vector<float> local = drawn(2);
    local[3] = NAN;  // a worker that has gone astray
    shoal::eager_gradient(weights, {drawn(1), local, drawn(3), contribution, gradient});
    expect_holds_and_faults_are_found([&] {
      DeviceArray<float> base(drawn(1)), astray(local), mean(drawn(3)), c(drawn(4)), g(kCount);
      const EagerArrays arrays{base.at(), astray.at(), mean.at(), c.at(), g.at()};
      EXPECT_EQ(eager_gradient(weights, arrays, kCount, nullptr), kLaunched);
      std::vector<float> got = g.values();
      if (std::isnan(gradient[3]) && std::isnan(got[3])) got[3] = gradient[3];  // of NaN the sign is nobody's
      std::vector<float> kept = c.values();
      if (std::isnan(contribution[3]) && std::isnan(kept[3])) kept[3] = contribution[3];
      return are_same(got, gradient) && are_same(kept, contribution);
    });
  }
}

}  // namespace
}  // namespace shoal::gpu::outer_test
