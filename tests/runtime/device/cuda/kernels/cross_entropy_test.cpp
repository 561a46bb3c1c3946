// The loss by kernels, against float64: a vocabulary that packs do not divide, padding, targets that do not count.
#include "runtime/device/cuda/kernels/cross_entropy.h"

#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::cross_entropy_test {
namespace {

constexpr LossShape kShape{5, 4099, 4104};

// Padding is garbage that would win every maximum.
std::vector<float> logits() {
  std::mt19937 random(8);
  std::vector<float> values = floats_of(bf16_of_all(normal(random, kShape.rows * kShape.stride, 3.0F)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % kShape.stride >= kShape.vocabulary) values[i] = 1000;
  }
  values[0] = 90;  // a row that is sure of its first token
  return values;
}

std::vector<std::int32_t> targets() { return {0, 4098, -1, 17, 2048}; }

struct Results {
  std::vector<double> gradient, losses;
};

Results in_float64() {
  Results out;
  for (std::size_t row = 0; row < kShape.rows; ++row) {
    const std::vector<float> all = logits();
    const float* at = all.data() + row * kShape.stride;
    const std::int32_t target = targets()[row];
    const double largest = *std::max_element(at, at + kShape.vocabulary);
    double sum = 0;
    for (std::size_t v = 0; v < kShape.vocabulary; ++v) sum += std::exp(at[v] - largest);
    for (std::size_t v = 0; v < kShape.stride; ++v) {
      const bool counts = target >= 0 && v < kShape.vocabulary;
      const double p = counts ? std::exp(at[v] - largest) / sum : 0;
      out.gradient.push_back(counts && static_cast<std::size_t>(target) == v ? p - 1 : p);
    }
    out.losses.push_back(target >= 0 ? std::log(sum) + largest - at[target] : 0);
  }
  return out;
}

TEST(CrossEntropyKernel, IsFloat64WithinRounding) {
  const Results wanted = in_float64();
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> values(logits()), losses(kShape.rows);
    DeviceArray<std::int32_t> to(targets());
    const LossArrays<float> arrays{values.at(), to.at(), losses.at()};
    EXPECT_EQ(loss_and_gradient(kShape, arrays, nullptr), kLaunched);
    return distance(values.values(), wanted.gradient) < 1e-6 && distance(losses.values(), wanted.losses) < 1e-6;
  });
}

TEST(CrossEntropyKernel, InBf16ItMakesTheGradientInPlaceAndRoundsOnce) {
  const Results wanted = in_float64();
  expect_holds_and_faults_are_found([&] {
    DeviceArray<Bf16> values(bf16_of_all(logits()));
    DeviceArray<float> losses(kShape.rows);
    DeviceArray<std::int32_t> to(targets());
    const LossArrays<Bf16> arrays{values.at(), to.at(), losses.at()};
    EXPECT_EQ(loss_and_gradient(kShape, arrays, nullptr), kLaunched);
    return distance(floats_of(values.values()), wanted.gradient) < 0.004 &&
           distance(losses.values(), wanted.losses) < 1e-6;
  });
}

// Logits further apart than powers of two reach, beyond whole numbers that bf16 tells apart, and that grow as a thread
// reads on, so that its scale has to follow; probabilities keep their digits however small they are. On each device a
// row of floats is longer than what a block keeps.
void expect_holds_where_logits_are_far_apart() {
  constexpr LossShape kRows{4, 30000, 30000};
  std::vector<float> values(kRows.rows * kRows.stride);
  for (std::size_t i = 0; i < kRows.stride; ++i) {
    const auto at = static_cast<float>(i);
    values[i] = at / 64 - 312;
    values[kRows.stride + i] = i % 2 == 0 ? -1000.0F : at / 2048;
    values[2 * kRows.stride + i] = i == 9000 ? 4e6F : 3e6F;
    values[3 * kRows.stride + i] = i == 77 ? -INFINITY : -40 - at / 4096;
  }
  DeviceArray<Bf16> in_bf16(bf16_of_all(values));
  values = floats_of(in_bf16.values());
  DeviceArray<float> in_float(values), losses(kRows.rows), losses_of_bf16(kRows.rows);
  DeviceArray<std::int32_t> to(std::vector<std::int32_t>{29999, 3, 9000, 5});
  ASSERT_EQ(loss_and_gradient(kRows, LossArrays<float>{in_float.at(), to.at(), losses.at()}, nullptr), kLaunched);
  ASSERT_EQ(loss_and_gradient(kRows, LossArrays<Bf16>{in_bf16.at(), to.at(), losses_of_bf16.at()}, nullptr), kLaunched);
  const std::vector<float> gradient = in_float.values(), rounded = floats_of(in_bf16.values());
  for (std::size_t row = 0; row < kRows.rows; ++row) {
    const float* at = values.data() + row * kRows.stride;
    const double largest = *std::max_element(at, at + kRows.vocabulary);
    const auto target = static_cast<std::size_t>(to.values()[row]);
    double sum = 0;
    for (std::size_t i = 0; i < kRows.vocabulary; ++i) sum += std::exp(at[i] - largest);
    const double loss = std::log(sum) + largest - at[target];
    EXPECT_NEAR(losses.values()[row], loss, 2e-6 * std::max(1.0, loss)) << row;
    EXPECT_NEAR(losses_of_bf16.values()[row], loss, 2e-6 * std::max(1.0, loss)) << row;
    double apart = 0, apart_in_bf16 = 0;
    for (std::size_t i = 0; i < kRows.vocabulary; ++i) {
      const double p = std::exp(at[i] - largest) / sum;
      const double wanted = i == target ? p - 1 : p;
      const double unit = std::max(std::fabs(wanted), i == target ? 1.0 : 1e-30);
      apart = std::max(apart, std::fabs(gradient[row * kRows.stride + i] - wanted) / unit);
      apart_in_bf16 = std::max(apart_in_bf16, std::fabs(rounded[row * kRows.stride + i] - wanted) / unit);
    }
    EXPECT_LT(apart, 4e-5) << row;  // logits of 300 in float32 are known to 3e-5
    EXPECT_LT(apart_in_bf16, 0x1p-8 + 1e-4) << row;
  }
}
TEST(CrossEntropyKernel, HoldsWhereLogitsAreFarApart) {
  for_each_shared_memory([] { expect_holds_where_logits_are_far_apart(); });
}

TEST(CrossEntropyKernel, AnotherTargetIsNoticed) {
  const Results wanted = in_float64();
  std::vector<std::int32_t> other = targets();
  other[3] = 18;
  DeviceArray<float> values(logits()), losses(kShape.rows);
  DeviceArray<std::int32_t> to(other);
  const LossArrays<float> arrays{values.at(), to.at(), losses.at()};
  ASSERT_EQ(loss_and_gradient(kShape, arrays, nullptr), kLaunched);
  EXPECT_GT(distance(values.values(), wanted.gradient), 0.5);
  EXPECT_GT(distance(losses.values(), wanted.losses), 0.01);
}

// Puts it into a row that a block keeps whole, and behind what it keeps of one.
TEST(CrossEntropyKernel, ANumberThatIsNoneStaysVisible) {
  for (const std::size_t count : {std::size_t{64}, std::size_t{40000}}) {
    for (const float bad : {NAN, INFINITY}) {
      std::vector<float> one(count, 1.0F);
      one[count - 24] = bad;
      DeviceArray<float> values(one), losses(1);
      DeviceArray<std::int32_t> to(std::vector<std::int32_t>{3});
      const LossArrays<float> arrays{values.at(), to.at(), losses.at()};
      ASSERT_EQ(loss_and_gradient({1, count, count}, arrays, nullptr), kLaunched);
      EXPECT_TRUE(std::isnan(losses.values()[0])) << bad;
      EXPECT_TRUE(std::isnan(values.values()[5])) << bad;
    }
  }
}

TEST(CrossEntropyKernel, LossesAreSummedInDoubleAndInOrder) {
  std::mt19937 random(4);
  const std::vector<float> losses = normal(random, 1000, 5.0F);
  double in_float64 = 0;
  for (const float loss : losses) in_float64 += loss;
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> from(losses);
    DeviceArray<double> sum(1);
    EXPECT_EQ(sum_losses(from.at(), losses.size(), sum.at(), nullptr), kLaunched);
    return std::fabs(sum.values()[0] - in_float64) < 1e-9;
  });
}

TEST(CrossEntropyKernel, RefusesRowsThatPacksDoNotDivide) {
  EXPECT_EQ(loss_and_gradient({1, 100, 100}, LossArrays<float>{}, nullptr), kRefusedShape);
  EXPECT_EQ(loss_and_gradient({1, 100, 96}, LossArrays<Bf16>{}, nullptr), kRefusedShape);
  EXPECT_EQ(loss_and_gradient({1, 100, kStrideMost + 8}, LossArrays<Bf16>{}, nullptr), kRefusedShape);
  EXPECT_EQ(loss_and_gradient({0, 100, 104}, LossArrays<float>{}, nullptr), kLaunched);
}

}  // namespace
}  // namespace shoal::gpu::cross_entropy_test
