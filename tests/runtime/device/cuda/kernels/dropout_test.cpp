// Dropout by a kernel: the bits of the generator that the CPU's mask is drawn by.
#include "runtime/device/cuda/kernels/dropout.h"

#include "model/arithmetic/dropout_elements.h"
#include "runtime/base/counter_random.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::dropout_test {
namespace {

constexpr DropoutShape kShape{3, 4 * 300};  // several blocks, some of which hold two samples
constexpr std::size_t kCount = kShape.samples * kShape.elements;
const std::vector<std::uint64_t> kStreams = {stream_of("a"), stream_of("b"), stream_of("c")};

DropoutDraw draw_of(double rate) {
  return {0x123456789ABCULL, 77, static_cast<std::uint64_t>(rate * 0x1p32), static_cast<float>(1 / (1 - rate))};
}

std::vector<float> dropped(const std::vector<float>& x, const DropoutDraw& draw) {
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t index = draw.step << 32U | (i % kShape.elements / 4);
    const auto words = philox4x32(philox_counter(index, kStreams[i / kShape.elements]), philox_key(draw.seed));
    y[i] = x[i] * (words[i % 4] < draw.threshold ? 0.0F : draw.kept);
  }
  return y;
}

std::vector<float> drawn() {
  std::mt19937 random(4);
  return normal(random, kCount, 1);
}

TEST(DropoutKernel, DrawsTheCpusMask) {
  const std::vector<float> x = drawn();
  for (const double rate : {0.1, 0.5}) {
    const std::vector<float> wanted = dropped(x, draw_of(rate));
    const auto zeros = static_cast<double>(std::ranges::count(wanted, 0.0F));
    EXPECT_NEAR(zeros / kCount, rate, 0.03);
    expect_holds_and_faults_are_found([&] {
      DeviceArray<float> from(x), y(kCount);
      DeviceArray<std::uint64_t> streams(kStreams);
      using Arrays = DropoutArrays<float>;
      const DropoutDraw draw = draw_of(rate);
      EXPECT_EQ(drop(kShape, draw, Arrays{from.at(), streams.at(), y.at()}, nullptr), kLaunched);
      EXPECT_EQ(drop(kShape, draw, Arrays{from.at(), streams.at(), from.at()}, nullptr), kLaunched);  // in place
      return are_same(y.values(), wanted) && are_same(from.values(), wanted);
    });
  }
}

TEST(DropoutKernel, RoundsItsProductsToBf16) {
  const std::vector<Bf16> x = bf16_of_all(drawn());
  const std::vector<float> wanted = floats_of(bf16_of_all(dropped(floats_of(x), draw_of(0.1))));
  expect_holds_and_faults_are_found([&] {
    DeviceArray<Bf16> from(x), y(kCount);
    DeviceArray<std::uint64_t> streams(kStreams);
    const DropoutArrays<Bf16> arrays{from.at(), streams.at(), y.at()};
    EXPECT_EQ(drop(kShape, draw_of(0.1), arrays, nullptr), kLaunched);
    return are_same(floats_of(y.values()), wanted);
  });
}

TEST(DropoutKernel, AnotherStepSeedOrStreamIsAnotherMask) {
  const std::vector<float> x(kCount, 1.0F);
  const DropoutDraw one = draw_of(0.5);
  DropoutDraw step = one, seed = one;
  step.step += 1;
  seed.seed += 1;
  EXPECT_NE(dropped(x, step), dropped(x, one));
  EXPECT_NE(dropped(x, seed), dropped(x, one));
  const std::vector<float> mask = dropped(x, one);
  EXPECT_FALSE(std::equal(mask.begin(), mask.begin() + kShape.elements, mask.begin() + kShape.elements));
}

TEST(DropoutKernel, RefusesSamplesThatADrawDoesNotDivide) {
  EXPECT_EQ(drop({2, 6}, {}, DropoutArrays<float>{}, nullptr), kRefusedShape);
  EXPECT_EQ(drop({0, 8}, {}, DropoutArrays<float>{}, nullptr), kLaunched);
}

}  // namespace
}  // namespace shoal::gpu::dropout_test
