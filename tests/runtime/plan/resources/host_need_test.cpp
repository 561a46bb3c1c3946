// What a replica on a GPU takes of its machine's memory, from the configuration.
#include "runtime/plan/resources/host_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "launch/commands/plan/model_cut.h"
#include "runtime/plan/resources/device_fit.h"
#include "runtime/plan/resources/memory_need.h"
#include "runtime/plan/resources/plan_report.h"
#include "runtime/plan/resources/run_plan.h"
#include "tests/runtime/plan/resources/gpt2_small.h"

namespace shoal::host_need_test {
namespace {

using testing::HasSubstr;

Config exact() { return exact_gpt2_small(2); }

struct Planned {
  HostNeed need;
  std::uint64_t parameters = 0;
};

Planned planned(const Config& config, std::size_t replicas) {
  const auto cut = cut_of(config);
  EXPECT_TRUE(cut.ok());
  return {host_need(config, memory_need(config, *cut, 0, replicas), cut->size(), 0, replicas),
          (*cut)[0].parameter_count};
}

TEST(HostNeed, ASecondCopyOfTheStateLiesOnTheHost) {
  const auto [need, parameters] = planned(exact(), 2);
  EXPECT_EQ(need.state, 12 * parameters) << "weights, and AdamW's two averages";
  EXPECT_GE(need.image, 12 * parameters);
  Config config = exact();
  config.optim.kind = OptimizerKind::kSgd;
  EXPECT_EQ(planned(config, 2).need.state, 4 * parameters);
}

TEST(HostNeed, SumsOverConnectionsComeThroughTheHost) {
  const auto [need, parameters] = planned(exact(), 2);
  EXPECT_GE(need.sums, (8 + 8) * parameters) << "the contribution and the ring's result";
  const std::uint64_t border = 2 * std::bit_ceil(std::uint64_t{4 * 1024 * 4 * 768});
  EXPECT_EQ(need.pinned, border + std::bit_ceil(8 * parameters)) << "torch pins powers of two";
  EXPECT_EQ(planned(exact(), 1).need.sums, 0U) << "a member that is alone";
  EXPECT_EQ(planned(exact(), 1).need.pinned, border);
  Config by_nccl = exact();
  by_nccl.sync.backend = SyncBackend::kNccl;
  EXPECT_EQ(planned(by_nccl, 2).need.sums, 0U) << "they stay on the devices";
}

TEST(HostNeed, RoundsAreSummedOnTheHost) {
  Config config = exact();
  config.sync.mode = SyncMode::kDiloco;
  const auto [need, parameters] = planned(config, 2);
  EXPECT_GT(need.state, 12 * parameters) << "outer parameters and momentum";
  EXPECT_GT(need.sums, 0U);
  const std::uint64_t border = 2 * std::bit_ceil(std::uint64_t{4 * 1024 * 4 * 768});
  EXPECT_EQ(need.pinned, border + std::bit_ceil(4 * parameters)) << "contributions and means come and go through it";
  config.sync.fragments = 6;
  EXPECT_LT(planned(config, 2).need.pinned, need.pinned) << "a fragment at a time";
}

TEST(HostNeed, ThePlanSaysIt) {
  PlanOrder order;
  order.config = exact();
  order.model = cuts_of(order.config).value();
  const auto plan = plan_run(order);
  ASSERT_TRUE(plan.ok());
  const std::vector<CutStage> cuts = {plan->stages.at(0).cut, plan->stages.at(1).cut};
  const DeviceNeed need = device_need(exact(), cuts, 0, plan->stages[0].replicas);
  EXPECT_EQ(plan->stages[0].on_gpu, bytes_at(need, need.held));
  EXPECT_NE(plan->stages[0].on_gpu, plan->stages[1].on_gpu) << "the control";
  EXPECT_EQ(plan->stages.at(0).beside_gpu, total_bytes(planned(exact(), plan->stages[0].replicas).need));
  EXPECT_THAT(text_of(*plan), HasSubstr("\nbeside a GPU  "));
  EXPECT_THAT(text_of(*plan), HasSubstr("\non a GPU  "));
}

TEST(HostNeed, SaysWhatItIsMadeOf) {
  constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;
  const HostNeed need{.state = kGibibyte, .sums = kGibibyte / 2, .program = kGibibyte / 4};
  EXPECT_EQ(total_bytes(need), kGibibyte * 7 / 4);
  EXPECT_THAT(parts_of_need(need), HasSubstr("1.750 GiB of the machine's memory: state 1.000, image 0.000"));
}

}  // namespace
}  // namespace shoal::host_need_test
