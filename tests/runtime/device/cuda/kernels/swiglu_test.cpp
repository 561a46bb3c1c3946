// SwiGLU's gate by kernels: the bits of the CPU's loops in bf16, float64 within rounding in float32.
#include "runtime/device/cuda/kernels/swiglu.h"

#include "model/activation_kernels.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::swiglu_test {
namespace {

constexpr std::size_t kCount = 3 * 2048 + 72;  // several blocks in both types, the last one not full

std::vector<float> drawn(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values = normal(random, kCount, 3);
  values[0] = -0.0F, values[1] = 100, values[2] = -100;
  return values;
}

double silu(double g) { return g / (1 + std::exp(-g)); }
double slope(double g) {
  const double s = 1 / (1 + std::exp(-g));
  return s * (1 + g * (1 - s));
}

std::span<const std::uint16_t> bits(const std::vector<Bf16>& values) {
  return {reinterpret_cast<const std::uint16_t*>(values.data()), values.size()};
}
std::span<std::uint16_t> bits(std::vector<Bf16>& values) {
  return {reinterpret_cast<std::uint16_t*>(values.data()), values.size()};
}

TEST(SwigluKernel, IsFloat64WithinRounding) {
  const std::vector<float> gate = drawn(1), up = drawn(2), dy = drawn(3);
  std::vector<double> y, dgate, dup, wrong;
  for (std::size_t i = 0; i < kCount; ++i) {
    y.push_back(silu(gate[i]) * up[i]);
    dgate.push_back(static_cast<double>(dy[i]) * up[i] * slope(gate[i]));
    dup.push_back(silu(gate[i]) * dy[i]);
    wrong.push_back(silu(up[i]) * gate[i]);  // the control: the two changed places
  }
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> g(gate), u(up), d(dy), made(kCount), below(kCount);
    EXPECT_EQ(swiglu_forward(kCount, SwigluForward<float>{g.at(), u.at(), made.at()}, nullptr), kLaunched);
    const SwigluBackward<float> back{g.at(), u.at(), d.at(), below.at(), d.at()};
    EXPECT_EQ(swiglu_backward(kCount, back, nullptr), kLaunched);
    EXPECT_GT(distance(made.values(), wrong), 1e-2);
    return distance(made.values(), y) < 1e-6 && distance(below.values(), dgate) < 2e-6 &&
           distance(d.values(), dup) < 1e-6;
  });
}

TEST(SwigluKernel, GivesTheBitsOfTheCpuInBf16) {
  const std::vector<Bf16> gate = bf16_of_all(drawn(1)), up = bf16_of_all(drawn(2)), dy = bf16_of_all(drawn(3));
  std::vector<Bf16> y(kCount), dgate(kCount), dup(kCount);
  shoal::swiglu_forward({bits(gate), bits(up)}, bits(y));
  shoal::swiglu_backward({bits(gate), bits(up)}, bits(dy), {bits(dgate), bits(dup)});
  expect_holds_and_faults_are_found([&] {
    DeviceArray<Bf16> g(gate), u(up), d(dy), made(kCount), below(kCount), beside(kCount);
    EXPECT_EQ(swiglu_forward(kCount, SwigluForward<Bf16>{g.at(), u.at(), made.at()}, nullptr), kLaunched);
    const SwigluBackward<Bf16> back{g.at(), u.at(), d.at(), below.at(), beside.at()};
    EXPECT_EQ(swiglu_backward(kCount, back, nullptr), kLaunched);
    return are_same(made.values(), y) && are_same(below.values(), dgate) && are_same(beside.values(), dup);
  });
}

TEST(SwigluKernel, RefusesACountThatPacksDoNotDivide) {
  EXPECT_EQ(swiglu_forward(12, SwigluForward<float>{}, nullptr), kRefusedShape);
  EXPECT_EQ(swiglu_backward(12, SwigluBackward<Bf16>{}, nullptr), kRefusedShape);
  EXPECT_EQ(swiglu_forward(0, SwigluForward<Bf16>{}, nullptr), kLaunched);
}

}  // namespace
}  // namespace shoal::gpu::swiglu_test
