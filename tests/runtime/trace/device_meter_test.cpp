// The time in which a process computed, by whichever of its stages.
#include "runtime/trace/device_meter.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace shoal::device_meter_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant{} + 1h;

struct Metered {
  std::shared_ptr<DeviceMeter> meter = std::make_shared<DeviceMeter>(kStart, [] {
    DeviceUse use;
    use.memory_bytes = 300;
    return use;
  });
};

TEST(DeviceMeter, CountsTimeInWhichSeveralStagesComputeOnce) {
  Metered process;
  DeviceWork one(StageOnDevice{process.meter});
  DeviceWork two(StageOnDevice{process.meter});
  (void)one.take(kStart);
  one.note(true, kStart + 1s);
  two.note(true, kStart + 2s);
  two.note(true, kStart + 3s);
  one.note(false, kStart + 4s);
  const DeviceUse so_far = one.take(kStart + 5s);
  EXPECT_EQ(so_far.over_us, 5'000'000U);
  EXPECT_EQ(so_far.busy_us, 4'000'000U) << "the other one still computes";
  two.note(false, kStart + 6s);
  const DeviceUse rest = one.take(kStart + 9s);
  EXPECT_EQ(rest.over_us, 4'000'000U);
  EXPECT_EQ(rest.busy_us, 1'000'000U);
  EXPECT_EQ(rest.memory_bytes, 300U);
  EXPECT_EQ(two.take(kStart + 9s).over_us, 0U) << "it has not asked before";
}

TEST(DeviceMeter, AStageThatEndsInItsWorkLeavesTheDeviceIdle) {
  Metered process;
  DeviceWork asking(StageOnDevice{process.meter});
  (void)asking.take(kStart);
  {
    DeviceWork dying(StageOnDevice{process.meter});
    dying.note(true, kStart + 1s);
  }
  EXPECT_EQ(asking.take(kStart + 4s).busy_us, 0U);
  asking.note(true, kStart + 5s);
  EXPECT_EQ(asking.take(kStart + 6s).busy_us, 1'000'000U) << "it counts on";
}

TEST(DeviceMeter, TellsOfTheLastSecondsAlone) {
  Metered process;
  DeviceWork stage(StageOnDevice{process.meter});
  stage.note(true, kStart);
  DeviceUse use;
  for (int second = 1; second <= 30; ++second) {
    if (second == 15) stage.note(false, kStart + 15s);
    use = process.meter->lately(kStart + std::chrono::seconds(second));
    const bool is_old_enough = second > 5;
    if (second <= 15) {
      EXPECT_EQ(use.busy_us, use.over_us) << second;
    }
    if (is_old_enough) {
      EXPECT_GT(use.over_us, 5'000'000U) << second;
      EXPECT_LE(use.over_us, 10'000'000U) << second;
    }
  }
  EXPECT_EQ(use.busy_us, 0U) << "it has been idle for longer than is told";
}

TEST(DeviceMeter, AddsUpTheThreadsOfTheStagesThatAreThere) {
  Metered process;
  const DevicePeak peak{100, 4, 7};
  std::optional<DeviceWork> one(std::in_place, StageOnDevice{process.meter, peak, 2, 0});
  const DeviceWork two(StageOnDevice{process.meter, peak, 1, 0});
  EXPECT_EQ(process.meter->lately(kStart).threads, 3U);
  EXPECT_EQ(process.meter->lately(kStart).peak, peak);
  one.reset();
  EXPECT_EQ(process.meter->lately(kStart).threads, 1U);
}

TEST(DeviceMeter, AddsUpWhatEachStageTrained) {
  Metered process;
  DeviceWork one(StageOnDevice{process.meter, {}, 1, 10});
  DeviceWork two(StageOnDevice{process.meter, {}, 1, 3});
  one.trained(1000);
  (void)one.take(kStart);
  one.trained(7);
  two.trained(5);
  EXPECT_EQ(one.take(kStart + 1s).multiply_adds, 85U);
  EXPECT_EQ(one.take(kStart + 2s).multiply_adds, 0U) << "since the last report";
  EXPECT_EQ(process.meter->lately(kStart + 2s).multiply_adds, 10'085U);
}

TEST(DeviceWork, KnowsNothingWithoutAMeter) {
  DeviceWork work{StageOnDevice{}};
  work.note(true, kStart);
  work.trained(9);
  EXPECT_EQ(work.take(kStart), DeviceUse{});
}

}  // namespace
}  // namespace shoal::device_meter_test
