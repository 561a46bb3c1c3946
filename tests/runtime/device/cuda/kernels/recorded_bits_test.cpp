// Sums over rows are no function of the CPU's loops, but they are IEEE operations in an order that the shape decides:
// the shim and every GPU give one result, and it is recorded here. Inputs are integers' work, no library's.
#include <xxhash.h>

#include "runtime/device/cuda/kernels/cross_entropy.h"
#include "runtime/device/cuda/kernels/gelu.h"
#include "runtime/device/cuda/kernels/residual_norm.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::recorded_bits_test {
namespace {

// Multiples of 2^-20 in [-scale, scale).
std::vector<float> even_values(std::size_t count, std::uint32_t seed, float scale) {
  std::vector<float> values(count);
  std::uint32_t state = seed;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<float>(state >> 11U) * 0x1p-20F - 1.0F) * scale;
  }
  return values;
}

template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  return XXH3_64bits(values.data(), values.size() * sizeof(T));
}

TEST(RecordedBits, OfNorms) {
  constexpr std::size_t kRows = 300, kWidth = 768;
  const NormShape shape{NormRule::kLayer, kRows, kWidth, 1e-5F};
  DeviceArray<float> x(even_values(kRows * kWidth, 1, 2)), weight(even_values(kWidth, 3, 1)),
      bias(even_values(kWidth, 4, 1)), sum(kRows * kWidth), mean(kRows), rstd(kRows),
      around(even_values(kRows * kWidth, 5, 1)), dweight(kWidth), dbias(kWidth), parts(norm_parts(shape));
  DeviceArray<Bf16> branch(bf16_of_all(even_values(kRows * kWidth, 2, 1))), y(kRows * kWidth),
      dy(bf16_of_all(even_values(kRows * kWidth, 6, 1)));
  const NormForward<Bf16> forward{x.at(), branch.at(), weight.at(), bias.at(), sum.at(), y.at(), mean.at(), rstd.at()};
  ASSERT_EQ(residual_norm(shape, forward, nullptr), kLaunched);
  const NormBackward<Bf16> backward{sum.at(),    mean.at(),   rstd.at(),    weight.at(), dy.at(),
                                    around.at(), around.at(), dweight.at(), dbias.at(),  parts.at()};
  ASSERT_EQ(residual_norm_backward(shape, backward, nullptr), kLaunched);
  EXPECT_EQ(hash_of(y.values()), 0x51B406B56A026F9CU);
  EXPECT_EQ(hash_of(rstd.values()), 0xAA666E83029AF226U);
  EXPECT_EQ(hash_of(around.values()), 0xC65E668A5013006BU);
  EXPECT_EQ(hash_of(dweight.values()), 0x21D02A6C3A5C8555U);
  EXPECT_EQ(hash_of(dbias.values()), 0x2352407C5A63F984U);
}

TEST(RecordedBits, OfTheBiassGradient) {
  const GeluShape shape{600, 256};
  const std::size_t count = shape.rows * shape.width;
  DeviceArray<Bf16> x(bf16_of_all(even_values(count, 1, 4))), dy(bf16_of_all(even_values(count, 2, 1)));
  DeviceArray<float> bias(even_values(shape.width, 3, 1)), dbias(shape.width), parts(gelu_parts(shape));
  const GeluBackward<Bf16> arrays{x.at(), bias.at(), dy.at(), dy.at(), dbias.at(), parts.at()};
  ASSERT_EQ(gelu_backward(shape, arrays, nullptr), kLaunched);
  EXPECT_EQ(hash_of(dbias.values()), 0x649B24328E61283BU);
}

// Expects these bits whatever a block keeps of a row: all of the shortest, some of the longest on every device.
void expect_loss(std::size_t vocabulary, std::uint64_t gradient, std::uint64_t each_loss, std::uint64_t loss_sum) {
  SCOPED_TRACE(vocabulary);
  const LossShape shape{7, vocabulary, (vocabulary + 63) / 64 * 64};
  const auto last = static_cast<std::int32_t>(vocabulary) - 1;
  for_each_shared_memory([&] {
    DeviceArray<Bf16> logits(bf16_of_all(even_values(shape.rows * shape.stride, 1, 8)));
    DeviceArray<std::int32_t> targets(std::vector<std::int32_t>{0, last, 7, -1, 300, 4, 5});
    DeviceArray<float> losses(shape.rows);
    DeviceArray<double> sum(1);
    ASSERT_EQ(loss_and_gradient(shape, LossArrays<Bf16>{logits.at(), targets.at(), losses.at()}, nullptr), kLaunched);
    ASSERT_EQ(sum_losses(losses.at(), shape.rows, sum.at(), nullptr), kLaunched);
    EXPECT_EQ(hash_of(logits.values()), gradient);
    EXPECT_EQ(hash_of(losses.values()), each_loss);
    EXPECT_EQ(hash_of(sum.values()), loss_sum);
  });
}
TEST(RecordedBits, OfTheLoss) {
  expect_loss(4099, 0x220585375022760AU, 0x4D3C716BF9E53F26U, 0x02511D380716896CU);
  expect_loss(50257, 0x0BEED90F141B23D1U, 0x1B8C1F3B880112C0U, 0x3EBA0866AAC8CA37U);
  expect_loss(128256, 0x74121FB8FCD439A0U, 0x054D5B4FA41D164EU, 0xC7B027E63262DBA0U);
}

TEST(RecordedBits, AreNotThoseOfOtherInputs) {
  EXPECT_NE(hash_of(even_values(64, 1, 2)), hash_of(even_values(64, 2, 2)));
  EXPECT_EQ(even_values(3, 1, 2), even_values(3, 1, 2));
}

}  // namespace
}  // namespace shoal::gpu::recorded_bits_test
