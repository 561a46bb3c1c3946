// Accumulators and means by torch's operators have the bits of our kernels, in every mode.
#include "runtime/device/queue/device_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "model/update_kernels.h"
#include "runtime/device/gradient_sums.h"
#include "runtime/device/host_tensor.h"

namespace shoal::device_sums_test {
namespace {

constexpr std::uint64_t kTokens = 4096;
const std::shared_ptr<const DeviceMath> kTorch = torch_math();

FlatLayout two_tensors() { return FlatLayout({TensorSpec{"a", {7, 300}}, TensorSpec{"b", {1234}}}); }

// Values of all sizes that are in range, and halves of the fixed point's unit, of both signs.
std::vector<float> trying_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  const float unit = std::ldexp(1.0F, -fraction_bits(kTokens));
  for (float& value : values) {
    const float sign = random() % 2 == 0 ? 1.0F : -1.0F;
    const auto kind = random() % 4;
    if (kind == 0) value = sign * (static_cast<float>(random() % 1000) + 0.5F) * unit;
    if (kind == 1)
      value = sign * std::ldexp(1.0F + static_cast<float>(random() % 997) / 997, -static_cast<int>(random() % 60));
    if (kind == 2) value = sign * static_cast<float>(random() % 262'000);
    if (kind == 3) value = sign * std::numeric_limits<float>::denorm_min() * static_cast<float>(random() % 9);
  }
  return values;
}

at::Tensor tensor_of(std::vector<float>& values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

bool add_one(DeviceSums& sums, const FlatLayout& layout, const FlatTensor& tensor, std::vector<float>& values) {
  const auto index = static_cast<std::size_t>(&tensor - layout.tensors.data());
  const std::vector<at::Tensor> gradients = {tensor_of(values)};
  return sums.add(index, gradients, kTokens).item<bool>();
}

class SumsOfBoth : public testing::TestWithParam<Reduction> {};

TEST_P(SumsOfBoth, HaveEqualBitsAsAccumulatorsAndAsMean) {
  const FlatLayout layout = two_tensors();
  GradientSums ours(layout, GetParam(), kTokens);
  DeviceSums theirs(layout, GetParam(), kTokens, {at::kCPU, *kTorch});
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const FlatTensor& tensor : layout.tensors) {
      auto values = trying_values(tensor.count, seed * 100 + tensor.offset);
      ASSERT_TRUE(ours.add(tensor, values, kTokens)) << "seed " << seed;
      EXPECT_TRUE(add_one(theirs, layout, tensor, values));
    }
  }
  EXPECT_EQ(ours.contribution(), to_blob(theirs.values()));
  const ReducedSum mean = ours.adopt(ours.contribution(), 3 * kTokens);
  const ReducedSum mean_there = theirs.adopt(theirs.values().clone(), 3 * kTokens);
  EXPECT_EQ(mean.digest, mean_there.digest);
  ASSERT_EQ(mean.norms.size(), mean_there.norms.size());
  for (std::size_t i = 0; i < mean.norms.size(); ++i) {
    EXPECT_EQ(mean.norms[i].name, mean_there.norms[i].name);
    EXPECT_NEAR(mean.norms[i].squared_norm, mean_there.norms[i].squared_norm, 1e-12 * mean.norms[i].squared_norm);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, SumsOfBoth, testing::Values(Reduction::kExact, Reduction::kFast));

// The control: rounding halves to even, as torch's round() does, gives other sums.
TEST(DeviceSums, TheHalvesOfTheTestTellRoundingsApart) {
  auto values = trying_values(2000, 1);
  const at::Tensor scaled = tensor_of(values).to(at::kDouble).mul(std::ldexp(1.0, fraction_bits(kTokens)));
  std::vector<std::int64_t> ours(values.size());
  accumulate_exact(values, fraction_bits(kTokens), ours);
  const at::Tensor to_even = scaled.round().to(at::kLong);
  std::size_t different = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) different += ours[i] != to_even.const_data_ptr<std::int64_t>()[i];
  EXPECT_GT(different, 100U);
}

TEST_P(SumsOfBoth, AddNothingOfATensorThatIsOutOfRange) {
  const FlatLayout layout = two_tensors();
  const FlatTensor& tensor = layout.tensors[1];
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    DeviceSums sums(layout, GetParam(), kTokens, {at::kCPU, *kTorch});
    auto values = trying_values(tensor.count, 3);
    values[17] = bad;
    EXPECT_FALSE(add_one(sums, layout, tensor, values));
    EXPECT_EQ(sums.values().count_nonzero().item<std::int64_t>(), 0);
  }
  DeviceSums sums(layout, GetParam(), kTokens, {at::kCPU, *kTorch});
  std::vector<float> large(tensor.count, 65.0F * kTokens);
  EXPECT_EQ(add_one(sums, layout, tensor, large), GetParam() == Reduction::kFast);
}

// A sum that another stage reads stays as it was; nobody's memory is used again.
TEST(DeviceSums, BeginsInOtherMemoryWhileItsSumIsHeld) {
  const FlatLayout layout = two_tensors();
  DeviceSums sums(layout, Reduction::kFast, kTokens, {at::kCPU, *kTorch});
  const void* memory = sums.values().const_data_ptr();
  auto values = trying_values(layout.tensors[1].count, 3);
  ASSERT_TRUE(add_one(sums, layout, layout.tensors[1], values));
  at::Tensor held = sums.values();
  const at::Tensor before = held.clone();
  sums.clear();
  EXPECT_NE(sums.values().const_data_ptr(), memory);
  EXPECT_EQ(sums.values().count_nonzero().item<std::int64_t>(), 0);
  EXPECT_TRUE(held.equal(before));
  held.reset();
  memory = sums.values().const_data_ptr();
  sums.clear();
  EXPECT_EQ(sums.values().const_data_ptr(), memory) << "the control: nobody holds it";
}

TEST(DeviceSums, GroupsTensorsUpToSoManyBytes) {
  const FlatLayout layout({{"a", {100}}, {"b", {28}}, {"c", {1}}, {"d", {1000}}, {"e", {1}}});
  const auto ends = [&layout](std::size_t bytes) {
    std::vector<std::size_t> found;
    for (std::size_t first = 0; first < layout.tensors.size();)
      found.push_back(first = end_of_group(layout, first, bytes));
    return found;
  };
  EXPECT_EQ(ends(512), (std::vector<std::size_t>{2, 3, 4, 5}));
  EXPECT_EQ(ends(516), (std::vector<std::size_t>{3, 4, 5}));
  EXPECT_EQ(ends(0), (std::vector<std::size_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(ends(1U << 20U), (std::vector<std::size_t>{5}));
}

TEST(DeviceSums, NoTokensGiveAMeanOfZero) {
  const FlatLayout layout = two_tensors();
  DeviceSums sums(layout, Reduction::kExact, kTokens, {at::kCPU, *kTorch});
  const ReducedSum reduced = sums.adopt(sums.values().clone().fill_(5), 0);
  for (const auto& norm : reduced.norms) EXPECT_EQ(norm.squared_norm, 0);
}

}  // namespace
}  // namespace shoal::device_sums_test
