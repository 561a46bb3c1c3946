// Devices that are injured on purpose: when, and that the fault is one. The kernels run on the processor here.
#include "runtime/device/cuda/kernels/injury.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "runtime/base/machine/memory_lack.h"
#include "runtime/device/cuda/math/kernel_math.h"
#include "runtime/device/decorators/poisoned_stage_executor.h"
#include "runtime/device/queue/queued_stage_executor.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/fake_queue.h"
#include "tests/support/fake_executor.h"

namespace shoal::injury_test {
namespace {

QueuedStageExecutor stage_by_kernels() {
  const Config config = small_config(Reduction::kExact);
  const auto queue = std::make_shared<FakeQueue>();
  return {config, (*partition(config.model, 1))[0], queue, {Answering::kLater, make_kernel_math(queue)}};
}

TEST(Injury, OfMemoryIsALackOfIt) {
  auto stage = stage_by_kernels();
  try {
    stage.injure(DeviceInjury::kOutOfMemory);
    ADD_FAILURE() << "nobody has so much";
  } catch (const std::exception& problem) {
    EXPECT_TRUE(is_lack_of_memory(problem)) << problem.what();
  }
}

TEST(InjuryDeathTest, OfAnAddressEndsWhoeverMeetsIt) {
  auto stage = stage_by_kernels();
  EXPECT_DEATH(stage.injure(DeviceInjury::kIllegalAddress), "");
}

TEST(Injury, AKernelSpinsForItsTime) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(gpu::spin(3'000'000, nullptr), gpu::kLaunched);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(3));
}

// What is injured by computing so many microbatches of two steps under this poison.
std::vector<DeviceInjury> injuries_under(const Poison& poison) {
  std::vector<DeviceInjury> injuries;
  PoisonedStageExecutor stage(std::make_unique<FakeExecutor>(FakeShape{.stage_count = 1, .microbatch_count = 2}),
                              poison, [&](DeviceInjury how) { injuries.push_back(how); });
  for (const StepId step : {StepId{0}, StepId{1}}) {
    for (const MicrobatchId id : {MicrobatchId{0}, MicrobatchId{1}}) {
      const TensorBlob input = FakeExecutor::input_of(0, step, id);
      static_cast<void>(stage.forward_backward({step, id, input, input}, WeightGradients::kAtOnce));
      static_cast<void>(stage.accumulate(id));
    }
    stage.zero();
  }
  return injuries;
}

TEST(Injury, ComesAtItsMicrobatchAndTheDeviceGoesOnToCompute) {
  Poison poison{Poison::How::kInjury, StepId{1}, MicrobatchId{0}, StageId{0}};
  poison.injury = DeviceInjury::kHang;
  EXPECT_THAT(injuries_under(poison), testing::ElementsAre(DeviceInjury::kHang));
  poison.step = StepId{2};
  EXPECT_THAT(injuries_under(poison), testing::IsEmpty());
}

}  // namespace
}  // namespace shoal::injury_test
