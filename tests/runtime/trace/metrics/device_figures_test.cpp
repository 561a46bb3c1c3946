// What speed is measured by: a peak that several devices have together, or none.
#include "runtime/trace/metrics/device_figures.h"

#include <gtest/gtest.h>

namespace shoal::device_figures_test {
namespace {

constexpr std::uint64_t kRate = 20'000'000'000;

ComputedOn on_processor(std::uint64_t process, std::uint32_t threads, std::uint32_t cores, std::uint64_t machine = 5) {
  ComputedOn on{ProcessIncarnation{process}, {}};
  on.use.threads = threads;
  on.use.peak = {kRate, cores, machine};
  return on;
}

// Of a process with so many stages there.
ComputedOn on_gpu(std::uint64_t process, std::uint64_t gpu, std::uint32_t stages = 1) {
  ComputedOn on{ProcessIncarnation{process}, {}};
  on.use.threads = stages;
  on.use.peak = {30 * kRate, 1, gpu};
  return on;
}

TEST(Peak, IsThatOfAllThreads) {
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 1, 4)}), 1.0 * kRate);
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 2, 4), on_processor(2, 1, 4)}), 3.0 * kRate);
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 2, 4), on_processor(1, 2, 4)}), 2.0 * kRate)
      << "two replicas of a process tell of the same threads";
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 4, 4), on_processor(2, 4, 4, 6)}), 8.0 * kRate) << "two machines";
}

TEST(Peak, IsAtMostThatOfTheMachine) {
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 2, 3), on_processor(2, 2, 3)}), 3.0 * kRate) << "4 threads, 3 cores";
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 2, 3), on_processor(2, 2, 3, 6)}), 4.0 * kRate) << "two machines";
}

TEST(Peak, OfAGpuCountsOnce) {
  EXPECT_EQ(peak_multiply_adds_s({on_gpu(1, 7, 2), on_gpu(1, 7, 2)}), 30.0 * kRate) << "two stages of a process";
  EXPECT_EQ(peak_multiply_adds_s({on_gpu(1, 7), on_gpu(2, 7)}), 30.0 * kRate) << "two processes";
  EXPECT_EQ(peak_multiply_adds_s({on_gpu(1, 7), on_gpu(2, 8)}), 60.0 * kRate) << "two GPUs";
  EXPECT_EQ(peak_multiply_adds_s({on_gpu(1, 7), on_processor(2, 1, 4)}), 31.0 * kRate);
}

TEST(Peak, IsNotKnownOfDevicesThatArePacedOrSilent) {
  EXPECT_EQ(peak_multiply_adds_s({}), std::nullopt);
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 1, 4), {ProcessIncarnation{2}, {}}}), std::nullopt);
  EXPECT_EQ(peak_multiply_adds_s({on_processor(1, 1, 4, 0)}), std::nullopt) << "nobody knows on which machine";
}

// GPT-2 124M at 498 687 tokens/s beside a peak of 650 TFLOP/s: 0.66, with 6 N + 12 L H Q T = 855 MFLOP a token.
TEST(ModelFlopsUtilisation, IsAsPublished) {
  const double multiplied = 12 * (768.0 * 2304 + 768 * 768 + 2 * 768 * 3072) + 768.0 * 50257;
  const double flops = 6 * multiplied + 12.0 * 12 * 12 * 64 * 1024;
  const auto mfu = model_flops_utilisation(flops / 2, 498687, 650e12 / 2);
  ASSERT_TRUE(mfu);
  EXPECT_NEAR(*mfu, 0.656, 0.001);
}

TEST(ModelFlopsUtilisation, IsNotThereWithoutOneOfItsParts) {
  EXPECT_EQ(model_flops_utilisation(1e6, 1000, std::nullopt), std::nullopt);
  EXPECT_EQ(model_flops_utilisation(0, 1000, 1e10), std::nullopt);
  EXPECT_EQ(model_flops_utilisation(1e6, 0, 1e10), std::nullopt);
}

TEST(DeviceFigures, AreSharesOfTheTimeAndOfThePeak) {
  DeviceUse use{1'500'000, 2'000'000, 60, 300, 400, 3, {50, 8, 1}};
  EXPECT_EQ(figures_of(use), (DeviceFigures{0.75, 0.2, 300, 400})) << "60 in 2 s, of 3 x 50 a second";
  use.peak.cores = 2;
  EXPECT_DOUBLE_EQ(figures_of(use).mfu.value_or(0), 0.3) << "there are no more cores";
  use.multiply_adds = 0;
  EXPECT_EQ(figures_of(use).mfu, 0) << "nothing was trained, and that is known";
}

TEST(DeviceFigures, AreAbsentWhereNothingIsKnown) {
  EXPECT_EQ(figures_of({}), DeviceFigures{});
  EXPECT_EQ(figures_of({0, 0, 9, 300, 0, 1, {50, 1, 1}}), (DeviceFigures{{}, {}, 300, {}})) << "no time was measured";
  const DeviceUse paced{1, 2, 9, 300, 400, 1, {0, 8, 1}};
  EXPECT_EQ(figures_of(paced), (DeviceFigures{0.5, {}, 300, 400})) << "a paced device has no peak";
  const DeviceUse spare{0, 2, 0, 300, 400, 0, {}};
  EXPECT_EQ(figures_of(spare), (DeviceFigures{0.0, {}, 300, 400})) << "a process without a stage";
}

TEST(DeviceFigures, AreSaidWhereTheyAreKnown) {
  EXPECT_EQ(figures_text({}), "");
  EXPECT_EQ(figures_text({0.93, 0.4123, 310'000'000, 350'000'000}),
            "computing 93 % of the time, MFU 41.2 %, 310.0 MB in use, at most 350.0 MB");
  EXPECT_EQ(figures_text({0.0, {}, 310'000'000, {}}), "computing 0 % of the time, 310.0 MB in use");
}

}  // namespace
}  // namespace shoal::device_figures_test
