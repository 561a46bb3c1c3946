// Bias and GELU by kernels: the bits of the CPU's loops in float32, float64 within rounding in both types.
#include "runtime/device/cuda/kernels/gelu.h"

#include <numbers>

#include "model/activation_kernels.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::gelu_test {
namespace {

constexpr GeluShape kShape{523, 136};  // three parts of rows; a part of the columns' last block
constexpr std::size_t kCount = kShape.rows * kShape.width;

std::vector<float> drawn(unsigned seed, std::size_t count = kCount) {
  std::mt19937 random(seed);
  return normal(random, count, 1.5F);
}

std::vector<float> with_bias(std::vector<float> x, const std::vector<float>& bias) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += bias[i % bias.size()];
  return x;
}

double gelu_in_float64(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double slope_in_float64(double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  const double du = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + std::tanh(u)) + 0.5 * x * du / (std::cosh(u) * std::cosh(u));
}

std::vector<double> slopes(const std::vector<float>& x, const std::vector<float>& dy) {
  std::vector<double> wanted;
  for (std::size_t i = 0; i < x.size(); ++i) wanted.push_back(dy[i] * slope_in_float64(x[i]));
  return wanted;
}

std::vector<double> column_sums(const std::vector<double>& values) {
  std::vector<double> sums(kShape.width);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % kShape.width] += values[i];
  return sums;
}

TEST(GeluKernel, ForwardGivesTheBitsOfTheCpu) {
  const std::vector<float> bias = drawn(2, kShape.width);
  const std::vector<float> x = with_bias(drawn(1), bias);
  std::vector<float> wanted(kCount);
  shoal::gelu_forward(x, wanted);
  std::vector<double> in_float64;
  for (const float value : x) in_float64.push_back(gelu_in_float64(value));
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> from(drawn(1)), b(bias), y(kCount);
    EXPECT_EQ(gelu_forward(kShape, GeluForward<float>{from.at(), b.at(), y.at()}, nullptr), kLaunched);
    return are_same(y.values(), wanted) && distance(y.values(), in_float64) < 5e-7;
  });
}

TEST(GeluKernel, BackwardGivesTheBitsOfTheCpuAndTheBiasItsColumns) {
  const std::vector<float> bias = drawn(2, kShape.width), dy = drawn(3);
  const std::vector<float> x = with_bias(drawn(1), bias);
  std::vector<float> wanted(kCount);
  shoal::gelu_backward(x, dy, wanted);
  const std::vector<double> in_float64 = slopes(x, dy);
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> from(drawn(1)), b(bias), above(dy), dbias(kShape.width), parts(gelu_parts(kShape));
    const GeluBackward<float> arrays{from.at(), b.at(), above.at(), above.at(), dbias.at(), parts.at()};
    EXPECT_EQ(gelu_backward(kShape, arrays, nullptr), kLaunched);
    return are_same(above.values(), wanted) && distance(above.values(), in_float64) < 2e-6 &&
           distance(dbias.values(), column_sums(in_float64)) < 1e-5;
  });
}

TEST(GeluKernel, InBf16BothWaysAreRoundedOnce) {
  const std::vector<float> bias = drawn(2, kShape.width);
  const std::vector<Bf16> x = bf16_of_all(drawn(1)), dy = bf16_of_all(drawn(3));
  const std::vector<float> before = with_bias(floats_of(x), bias);
  std::vector<float> y(kCount), dx(kCount);
  shoal::gelu_forward(before, y);
  shoal::gelu_backward(before, floats_of(dy), dx);
  const std::vector<double> sums = column_sums(slopes(before, floats_of(dy)));
  expect_holds_and_faults_are_found([&] {
    DeviceArray<Bf16> from(x), above(dy), made(kCount), below(kCount);
    DeviceArray<float> b(bias), dbias(kShape.width), parts(gelu_parts(kShape));
    EXPECT_EQ(gelu_forward(kShape, GeluForward<Bf16>{from.at(), b.at(), made.at()}, nullptr), kLaunched);
    const GeluBackward<Bf16> arrays{from.at(), b.at(), above.at(), below.at(), dbias.at(), parts.at()};
    EXPECT_EQ(gelu_backward(kShape, arrays, nullptr), kLaunched);
    return are_same(made.values(), bf16_of_all(y)) && are_same(below.values(), bf16_of_all(dx)) &&
           distance(dbias.values(), sums) < 1e-5;
  });
}

// Zero, infinity, subnormal numbers, and where logistic.h has no number, in packs with usual values.
template <class T, class Round>
void expect_bits_of_the_formula(const Round& round) {
  std::vector<float> x = drawn(1), dy = drawn(3), y(kCount), dx(kCount);
  const float rare[] = {0.0F, INFINITY, -INFINITY, -9.98F, -50.0F, 0x1p127F, 0x1p-130F, -0x1p-133F, 0x1p-24F};
  for (std::size_t i = 0; i < std::size(rare); ++i) x[i * 13] = rare[i];
  const std::vector<T> from = round(x), above = round(dy);
  shoal::gelu_forward(floats_of(from), y);
  shoal::gelu_backward(floats_of(from), floats_of(above), dx);
  DeviceArray<T> in(from), d(above), made(kCount);
  DeviceArray<float> dbias(kShape.width), parts(gelu_parts(kShape));
  ASSERT_EQ(gelu_forward(kShape, GeluForward<T>{in.at(), nullptr, made.at()}, nullptr), kLaunched);
  EXPECT_TRUE(are_same(made.values(), round(y)));
  const GeluBackward<T> back{in.at(), nullptr, d.at(), d.at(), dbias.at(), parts.at()};
  ASSERT_EQ(gelu_backward(kShape, back, nullptr), kLaunched);
  std::vector<float> got = floats_of(d.values()), wanted = floats_of(round(dx));
  for (std::size_t i = 0; i < kCount; ++i) {
    if (std::isnan(wanted[i]) && std::isnan(got[i])) got[i] = wanted[i];  // its payload is the device's
  }
  EXPECT_TRUE(are_same(got, wanted));
}

TEST(GeluKernel, GivesTheBitsOfTheCpuForRareValuesToo) {
  expect_bits_of_the_formula<float>([](const std::vector<float>& values) { return values; });
  expect_bits_of_the_formula<Bf16>([](const std::vector<float>& values) { return bf16_of_all(values); });
}

TEST(GeluKernel, WithoutABiasAddsNone) {
  std::vector<float> wanted(kCount);
  shoal::gelu_forward(drawn(1), wanted);
  DeviceArray<float> from(drawn(1)), y(kCount);
  ASSERT_EQ(gelu_forward(kShape, GeluForward<float>{from.at(), nullptr, y.at()}, nullptr), kLaunched);
  EXPECT_TRUE(are_same(y.values(), wanted));
}

TEST(GeluKernel, RefusesAWidthThatPacksDoNotDivide) {
  EXPECT_EQ(gelu_forward({4, 12}, GeluForward<float>{}, nullptr), kRefusedShape);
  EXPECT_EQ(gelu_backward({4, 12}, GeluBackward<Bf16>{}, nullptr), kRefusedShape);
  EXPECT_EQ(gelu_forward({0, 16}, GeluForward<float>{}, nullptr), kLaunched);
}

}  // namespace
}  // namespace shoal::gpu::gelu_test
