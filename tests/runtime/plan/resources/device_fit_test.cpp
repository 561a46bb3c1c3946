// What fits the memory of a GPU, and the sentence where it does not.
#include "runtime/plan/resources/device_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/commands/plan/model_cut.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/plan/resources/memory_need.h"
#include "tests/runtime/plan/resources/gpt2_small.h"

namespace shoal::device_fit_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

DeviceNeed need_of(std::uint64_t kept, std::uint64_t per_microbatch, std::uint64_t held) {
  return {.kept = kept, .computing = 0, .per_microbatch = per_microbatch, .reducing = 0, .held = held};
}

TEST(DeviceFit, SaysWhatIsNeededWhatIsFreeAndWhatWouldFit) {
  const DeviceNeed need = need_of(10 * kGibibyte, 2 * kGibibyte, 10);  // 10 + 20 + 1 of slack
  EXPECT_EQ(lack_on_device(need, 31 * kGibibyte), std::nullopt);
  const auto lack = lack_on_device(need, 22 * kGibibyte);
  ASSERT_TRUE(lack);
  EXPECT_THAT(*lack, HasSubstr("needs 31.0 GiB at 10 microbatches in flight, the device has 22.0 free; 5 would fit"));
  EXPECT_LE(bytes_at(need, 5), 22 * kGibibyte);
  EXPECT_GT(bytes_at(need, 6), 22 * kGibibyte);
}

TEST(DeviceFit, SaysWhenNotEvenOneWouldFit) {
  EXPECT_THAT(*lack_on_device(need_of(10 * kGibibyte, kGibibyte, 1), 5 * kGibibyte),
              HasSubstr("at 1 microbatch in flight, the device has 5.0 free; not even one would fit"));
}

TEST(DeviceFit, TheEdgeFits) {
  const DeviceNeed need = need_of(kGibibyte, kGibibyte / 4, 4);
  EXPECT_EQ(lack_on_device(need, bytes_at(need, 4)), std::nullopt);
  EXPECT_TRUE(lack_on_device(need, bytes_at(need, 4) - 1));
}

TEST(DeviceFit, ReducingTakesThePlaceOfComputing) {
  DeviceNeed need = need_of(0, 100, 2);
  need.reducing = 1000;
  EXPECT_EQ(bytes_at(need, 2), 1050U);
  EXPECT_EQ(bytes_at(need, 20), 2100U);
}

TEST(DeviceFit, SaysWhatWasUsedBesideWhatWasPlanned) {
  DeviceNeed need = need_of(2 * kGibibyte + 800'000'000, kGibibyte, 2);  // 2 + 2 + 0.1 of slack
  need.beside = 800'000'000;
  const DeviceTake use{.tensors = 3 * kGibibyte, .reserved = 4 * kGibibyte, .beside = kGibibyte / 2};
  EXPECT_EQ(use_text(use, need),
            "at most 4.000 GiB used (3.000 by tensors), 4.100 planned; 0.500 beside it, 0.745 planned");
  need.reducing = 3 * kGibibyte;
  MemoryNeed parts;
  parts.weights = kGibibyte;
  EXPECT_THAT(parts_of_need(need, parts), AllOf(HasSubstr("5.895 GiB: weights 1.000, averages 0.000,"),
                                                HasSubstr("context 0.745, in all 2.745 kept"),
                                                HasSubstr("2 x 1.000 in flight, or 3.000 while it reduces")));
}

TEST(DeviceFit, HoldsTheOuterParametersAndWhatUpdatesOfThemNeed) {
  Config config = exact_gpt2_small(2);
  const auto need_in = [&config] {
    const auto cut = cut_of(config).value();
    return std::pair(device_need(config, cut, 0, 2), memory_need(config, cut, 0, 2));
  };
  const auto [every_step, of_step] = need_in();
  config.sync.mode = SyncMode::kDiloco;
  const auto [rounds, of_rounds] = need_in();
  EXPECT_EQ(of_rounds.outer, 2 * of_rounds.weights) << "agreed parameters and momentum";
  EXPECT_EQ(rounds.kept, every_step.kept + of_rounds.outer) << of_step.outer;
  EXPECT_THAT(parts_of_need(rounds, of_rounds), HasSubstr(", outer "));
  EXPECT_THAT(parts_of_need(every_step, of_step), Not(HasSubstr(", outer ")));
  config.sync.outer_update = OuterUpdate::kEager;
  EXPECT_EQ(need_in().first.kept, rounds.kept + need_in().second.outer - of_rounds.outer);
}

// What an H100's allocator had reserved at most, for GPT-2 124M in one process: GiB, within a twentieth.
TEST(DeviceFit, IsNearWhatAnH100Used) {
  struct Seen {
    Precision precision;
    Reduction reduction;
    int rows;
    double gibibytes;
  };
  for (const Seen& seen :
       {Seen{Precision::kBf16, Reduction::kFast, 64, 30.787}, Seen{Precision::kBf16, Reduction::kExact, 64, 31.395},
        Seen{Precision::kBf16, Reduction::kFast, 4, 5.369}, Seen{Precision::kFp32, Reduction::kFast, 4, 6.895}}) {
    Config config;
    config.model = {.layers = 12, .heads = 12, .width = 768, .context = 1024, .vocabulary = 50257};
    config.model.precision = seen.precision;
    config.sync.reduction = seen.reduction;
    config.batch = {4 * seen.rows, seen.rows};
    config.pipeline.stages = 1;
    config.pipeline.replicas = 1;
    const auto cut = cut_of(config);
    ASSERT_TRUE(cut.ok());
    const DeviceNeed need = device_need(config, *cut, 0, 1);
    const double planned = static_cast<double>(bytes_at(need, 1) - 800'000'000) / static_cast<double>(kGibibyte);
    EXPECT_NEAR(planned / seen.gibibytes, 1, 0.05) << planned << " of " << seen.gibibytes;
  }
}

// All stages of GPT-2 124M on one H100 of 77.3 GiB, as `tests/gpu/run pipelines` places them.
TEST(DeviceFit, OneCardHoldsAllStagesWithFewCredits) {
  const auto all_stages = [](int stages, int credits) {
    Config config;
    config.model = {.layers = 12, .heads = 12, .width = 768, .context = 1024, .vocabulary = 50257};
    config.model.precision = Precision::kBf16;
    config.batch = {256, 64};
    config.pipeline.stages = stages;
    config.pipeline.replicas = 1;
    config.pipeline.credits = credits;
    const auto cut = cut_of(config);
    EXPECT_TRUE(cut.ok());
    std::uint64_t bytes = 0;
    for (std::size_t stage = 0; stage < cut->size(); ++stage) {
      const DeviceNeed need = device_need(config, *cut, stage, 1);
      bytes += bytes_at(need, need.held);
    }
    return static_cast<double>(bytes) / static_cast<double>(kGibibyte);
  };
  EXPECT_LE(all_stages(2, 2), 77.3);
  EXPECT_LE(all_stages(4, 1), 77.3);
  EXPECT_GT(all_stages(2, 0), 77.3) << "with the credits of the schedule";
}

// A replica may hold what its queue lets wait and the one that it computes, and what its credits bring before that.
TEST(DeviceFit, CountsAllThatAReplicaMayHold) {
  for (const int stages : {2, 4}) {
    for (const int replicas : {1, 2}) {
      Config config;
      config.model = {.layers = 4, .heads = 1, .width = 16, .context = 8, .vocabulary = 64};
      config.batch = {64, 1};
      config.pipeline.stages = stages;
      config.pipeline.replicas = replicas;
      const auto cut = cut_of(config);
      ASSERT_TRUE(cut.ok());
      for (std::size_t stage = 0; stage < cut->size(); ++stage) {
        SCOPED_TRACE(testing::Message() << stages << "x" << replicas << ", stage " << stage);
        const std::uint64_t held = device_need(config, *cut, stage, static_cast<std::size_t>(replicas)).held;
        const std::uint64_t waiting =
            accumulations_that_may_wait(config.pipeline, StageId{static_cast<std::uint32_t>(stage)});
        const bool is_last = stage + 1 == cut->size();
        EXPECT_GE(held, is_last ? 1U : credits_at_most(config) + 1) << "where later stages are slow";
        EXPECT_GE(held, replicas == 1 ? waiting : waiting + 1) << "in order the computed one is among the last ones";
        EXPECT_EQ(held, held_microbatches(config, stage, LaterStages::kSlow)) << "as the plan of a processor";
        EXPECT_LE(held_microbatches(config, stage, LaterStages::kQuick), held);
      }
      config.pipeline.credits = 1;
      EXPECT_EQ(device_need(config, *cut, 0, static_cast<std::size_t>(replicas)).held, 2U) << "control";
    }
  }
}

// GPT-2 small: what each item of a device is made of, from the configuration.
TEST(DeviceFit, CountsWhatADeviceHolds) {
  Config config = exact_gpt2_small(2);
  config.pipeline.replicas = 1;
  const auto cut = cut_of(config);
  ASSERT_TRUE(cut.ok());
  const DeviceNeed need = device_need(config, *cut, 0, 1);
  const std::uint64_t parameters = (*cut)[0].parameter_count;
  EXPECT_GT(need.kept, parameters * (4 + 8 + 8 + 4));
  EXPECT_LT(need.kept, parameters * (4 + 8 + 8 + 4) + kGibibyte);
  EXPECT_EQ(need.held, held_microbatches(config, 0, LaterStages::kSlow));
  EXPECT_EQ(need.per_microbatch, 4U * 1024 * 4 * ((*cut)[0].kept_values + 768));
  Config recomputed = config;
  recomputed.pipeline.recompute = true;
  const DeviceNeed less = device_need(recomputed, *cut, 0, 1);
  EXPECT_EQ(less.per_microbatch, 4U * 1024 * 4 * 768);
  EXPECT_GT(less.computing, need.computing);  // one graph
  EXPECT_LT(bytes_at(less, less.held), bytes_at(need, need.held));
  Config by_nccl = config;
  by_nccl.sync.backend = SyncBackend::kNccl;
  const DeviceNeed more = device_need(by_nccl, *cut, 0, 1);
  const std::uint64_t communicator = kLoneCommunicatorBytes + kCommunicatorBuffers;
  EXPECT_EQ(more.kept - need.kept, communicator);
  EXPECT_EQ(more.beside - need.beside, communicator) << "nodes that come later may serve the stage too";
  EXPECT_THAT(parts_of_need(more, MemoryNeed()), HasSubstr(", context 0.745, NCCL's communicator 1.141, in all"));
  EXPECT_THAT(parts_of_need(need, MemoryNeed()), Not(HasSubstr("NCCL")));
  by_nccl.pipeline.replicas_max = 1;
  EXPECT_EQ(device_need(by_nccl, *cut, 0, 1).beside, need.beside + kLoneCommunicatorBytes)
      << "a member that stays alone makes one, too";
  Config fast = config;
  fast.sync.reduction = Reduction::kFast;
  EXPECT_EQ(need.kept - device_need(fast, *cut, 0, 1).kept, parameters * 4);
  Config dropping = config;
  dropping.model.dropout = 0.1;
  const auto same_cut = cut_of(dropping);
  ASSERT_TRUE(same_cut.ok());
  EXPECT_EQ(device_need(dropping, *same_cut, 0, 1).per_microbatch, need.per_microbatch) << "masks are drawn both ways";
}

}  // namespace
}  // namespace shoal::device_fit_test
