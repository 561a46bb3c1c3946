// The step's sums by kernels: the bits of the CPU's loops; what is out of range adds nothing.
#include <limits>

#include "model/update_kernels.h"
#include "runtime/device/cuda/kernels/mean.h"
#include "tests/runtime/device/cuda/kernels/chunks/tables.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::accumulate_test {
namespace {

constexpr std::size_t kCount = 1003;
constexpr int kBits = 43;

std::vector<float> gradients() {
  std::mt19937 random(5);
  return normal(random, kCount, 0.3F);
}

std::vector<std::int64_t> sums_before() {
  std::mt19937_64 random(6);
  std::vector<std::int64_t> sums(kCount);
  for (auto& sum : sums) sum = static_cast<std::int64_t>(random()) >> 8;
  return sums;
}

TEST(AccumulateKernel, GivesTheSumsOfTheCpuAndOfAReferenceInInt64) {
  std::vector<float> values = gradients();
  values[0] = 0x1p-44F;  // halves: away from zero
  values[1] = -0x1p-44F;
  values[2] = -0.0F;
  std::vector<std::int64_t> wanted = sums_before();
  for (std::size_t i = 0; i < kCount; ++i) wanted[i] += std::llround(std::ldexp(static_cast<double>(values[i]), kBits));
  std::vector<std::int64_t> on_cpu = sums_before();
  shoal::accumulate_exact(values, kBits, on_cpu);
  ASSERT_EQ(on_cpu, wanted);

  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> from(values);
    DeviceArray<std::int64_t> sums(sums_before());
    DeviceArray<unsigned> is_bad(std::vector<unsigned>{0});
    EXPECT_EQ(OneGradient(from.at(), kCount).accumulate({sums.at(), kBits, is_bad.at()}), kLaunched);
    return are_same(sums.values(), wanted);
  });
}

TEST(AccumulateKernel, AddsNothingWhereAValueIsOutOfRange) {
  for (const float bad : {0.0F, std::nanf(""), std::numeric_limits<float>::infinity(), -64.5F}) {
    std::vector<float> values = gradients();
    values[kCount - 1] = bad;
    DeviceArray<float> from(values);
    DeviceArray<std::int64_t> sums(sums_before());
    DeviceArray<float> fast(values);
    DeviceArray<unsigned> is_bad(std::vector<unsigned>{0});
    OneGradient gradient(from.at(), kCount);
    ASSERT_EQ(gradient.find_beyond(64.0F, is_bad.at()), kLaunched);
    ASSERT_EQ(gradient.accumulate({sums.at(), kBits, is_bad.at()}), kLaunched);
    ASSERT_EQ(gradient.accumulate({fast.at(), -1, is_bad.at()}), kLaunched);
    const bool is_in_range = bad == 0.0F;
    EXPECT_EQ(is_bad.values()[0], is_in_range ? 0U : 1U) << bad;
    EXPECT_EQ(are_same(sums.values(), sums_before()), !is_in_range) << bad;
    EXPECT_EQ(are_same(fast.values(), values), !is_in_range) << bad;
  }
}

TEST(AccumulateKernel, TheRangeIsLookedAtByEveryThread) {
  std::vector<float> values = gradients();
  values[0] = 65;  // thread 0's, in the first block; the last block has another
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> from(values);
    DeviceArray<unsigned> first(std::vector<unsigned>{0}), last(std::vector<unsigned>{0});
    EXPECT_EQ(OneGradient(from.at(), kCount).find_beyond(64.0F, first.at()), kLaunched);
    std::vector<float> other = gradients();
    other[kCount - 1] = -65;
    DeviceArray<float> from_other(other);
    EXPECT_EQ(OneGradient(from_other.at(), kCount).find_beyond(64.0F, last.at()), kLaunched);
    return first.values()[0] == 1 && last.values()[0] == 1;
  });
}

TEST(AccumulateKernel, TheRangeIsLookedAtInEveryElement) {
  const auto is_found = [](std::size_t count, std::size_t begin, std::size_t bad) {
    std::vector<float> values(count);
    values[bad] = -65;
    DeviceArray<float> from(values);
    DeviceArray<unsigned> is_bad(std::vector<unsigned>{0});
    EXPECT_EQ(OneGradient(from.at() + begin, count - begin).find_beyond(64.0F, is_bad.at()), kLaunched);
    return is_bad.values()[0] == 1;
  };
  for (const std::size_t count : {1, 3, 4, 7, 1024, 4096, 4099, 20011}) {
    for (const std::size_t bad : {std::size_t{0}, count / 3, count / 2, count - 1}) {
      EXPECT_TRUE(is_found(count, 0, bad)) << count << " " << bad;
      EXPECT_EQ(is_found(count, 1, bad), bad > 0) << "not at 16 bytes: " << count << " " << bad;
    }
  }
}

TEST(AccumulateKernel, FastSumsAreTheCpus) {
  const std::vector<float> values = gradients();
  std::vector<float> wanted(kCount, 0.1F);
  shoal::accumulate_fast(values, wanted);
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> from(values), sums(std::vector<float>(kCount, 0.1F));
    DeviceArray<unsigned> is_bad(std::vector<unsigned>{0});
    EXPECT_EQ(OneGradient(from.at(), kCount).accumulate({sums.at(), -1, is_bad.at()}), kLaunched);
    return are_same(sums.values(), wanted);
  });
}

TEST(AccumulateKernel, MeansAreTheCpus) {
  std::vector<float> exact(kCount), fast(kCount);
  shoal::mean_of_exact(sums_before(), kBits, 777, exact);
  shoal::mean_of_fast(gradients(), 777, fast);
  expect_holds_and_faults_are_found([&] {
    DeviceArray<std::int64_t> sums(sums_before());
    DeviceArray<float> fast_sums(gradients()), exact_means(kCount), fast_means(kCount);
    EXPECT_EQ(mean_of_exact({sums.at(), kBits, 777}, kCount, exact_means.at(), nullptr), kLaunched);
    EXPECT_EQ(mean_of_fast(fast_sums.at(), kCount, 777, fast_means.at(), nullptr), kLaunched);
    return are_same(exact_means.values(), exact) && are_same(fast_means.values(), fast);
  });
}

double norm_of(const std::vector<float>& values) {
  Tables tables(values.size());
  DeviceArray<float> from(values);
  DeviceArray<double> blocks(tables.chunks()), norm(1);
  EXPECT_EQ(squared_norms(tables.all(), from.at(), blocks.at(), norm.at(), nullptr), kLaunched);
  return norm.values()[0];
}

TEST(SquaredNormKernel, IsTheCpusForAnyLength) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{15}, std::size_t{4096}, std::size_t{70000}}) {
    std::mt19937 random(static_cast<unsigned>(count));
    const std::vector<float> values = normal(random, count, 2.0F);
    const double wanted = shoal::squared_norm(values);
    EXPECT_EQ(norm_of(values), wanted) << count;
    double in_float64 = 0;
    for (const float value : values) in_float64 += static_cast<double>(value) * static_cast<double>(value);
    EXPECT_NEAR(wanted, in_float64, 1e-12 * in_float64);
  }
}

// Squares of 1, 2 and 3 behind a sum whose last place is 2: ties, which round by what was added before.
TEST(SquaredNormKernel, IsTheCpusWhereSumsMeetTies) {
  constexpr std::size_t kBlocks = 600;
  std::mt19937 random(9);
  std::vector<float> values(kBlocks * 4096);
  values[0] = values[1] = 0x1p26F;
  double apart = 0;
  for (std::size_t block = 1; block < kBlocks; ++block) {
    const std::size_t ones = random() % 4;
    for (std::size_t i = 0; i < ones; ++i) values[block * 4096 + i] = 1;
    apart += static_cast<double>(ones);
  }
  const double wanted = shoal::squared_norm(values);
  ASSERT_NE(wanted, 0x1p53 + apart) << "the order must matter";
  EXPECT_EQ(norm_of(values), wanted);
}

TEST(SquaredNormKernel, IsTheCpusForInfinityNaNAndZeros) {
  for (const float rare : {INFINITY, std::nanf(""), 0.0F, 0x1p-149F, 0x1.fffffep127F}) {
    std::vector<float> values(3 * 4096, rare);
    const double wanted = shoal::squared_norm(values);
    const double got = norm_of(values);
    EXPECT_TRUE(got == wanted || (std::isnan(got) && std::isnan(wanted))) << rare;
  }
}

TEST(SquaredNormKernel, FaultsAreFound) {
  constexpr std::size_t kLong = 257 * 4096 + 17;  // more blocks than the second kernel has threads
  std::mt19937 random(3);
  const std::vector<float> values = normal(random, kLong, 2.0F);
  const double wanted = shoal::squared_norm(values);
  expect_holds_and_faults_are_found([&] { return norm_of(values) == wanted; });
}

}  // namespace
}  // namespace shoal::gpu::accumulate_test
