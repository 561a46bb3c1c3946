// The gradient of a projection's bias by kernels: float64 within rounding, in both types.
#include "runtime/device/cuda/kernels/bias.h"

#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::bias_test {
namespace {

constexpr BiasShape kShape{523, 136};  // three parts of rows; a part of the columns' last block

std::vector<float> gradients(const BiasShape& shape) {
  std::mt19937 random(5);
  return floats_of(bf16_of_all(normal(random, shape.rows * shape.width, 1.5F)));  // the same for both types
}

std::vector<double> column_sums(const BiasShape& shape) {
  std::vector<double> sums(shape.width);
  const std::vector<float> values = gradients(shape);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % shape.width] += values[i];
  return sums;
}

template <class T>
double distance_of(const BiasShape& shape, const std::vector<T>& dy, const std::vector<double>& wanted) {
  DeviceArray<T> above(dy);
  DeviceArray<float> dbias(shape.width), parts(bias_parts(shape));
  EXPECT_EQ(bias_gradient(shape, BiasArrays<T>{above.at(), dbias.at(), parts.at()}, nullptr), kLaunched);
  return distance(dbias.values(), wanted);
}

TEST(BiasKernel, SumsColumnsInBothTypes) {
  const std::vector<double> wanted = column_sums(kShape);
  expect_holds_and_faults_are_found([&] { return distance_of(kShape, gradients(kShape), wanted) < 1e-5; });
  expect_holds_and_faults_are_found([&] { return distance_of(kShape, bf16_of_all(gradients(kShape)), wanted) < 1e-5; });
}

// Parts are added by kPartsTall threads, kPartsAtOnce loads each: more parts than all of these take at once.
TEST(BiasKernel, SumsMorePartsThanItsThreadsLoadAtOnce) {
  constexpr BiasShape kTall{256 * 520, 8};
  const std::vector<double> wanted = column_sums(kTall);
  EXPECT_LT(distance_of(kTall, gradients(kTall), wanted), 1e-4);
  std::vector<float> other = gradients(kTall);
  other.back() += 1;
  EXPECT_GT(distance_of(kTall, other, wanted), 1e-3) << "the last row of the last part counts";
}

TEST(BiasKernel, RefusesWidthsThatPacksDoNotDivide) {
  EXPECT_EQ(bias_gradient({2, 12}, BiasArrays<Bf16>{}, nullptr), kRefusedShape);
  EXPECT_EQ(bias_gradient({2, 0}, BiasArrays<Bf16>{}, nullptr), kLaunched);
}

}  // namespace
}  // namespace shoal::gpu::bias_test
