// The spawner places by the figures that `shoal plan` prints.
#include "launch/processes/spawner/stage_sizes.h"

#include <gtest/gtest.h>

#include "launch/commands/plan/model_cut.h"
#include "runtime/plan/resources/device_fit.h"
#include "runtime/plan/resources/run_plan.h"
#include "tests/runtime/plan/resources/gpt2_small.h"

namespace shoal::stage_sizes_test {
namespace {

RunPlan planned(const Config& config) {
  PlanOrder order;
  order.config = config;
  order.model = cuts_of(config).value();
  return plan_run(order).value();
}

TEST(StageSizes, AreThoseOfThePlan) {
  for (const SyncBackend backend : {SyncBackend::kRing, SyncBackend::kNccl}) {
    Config config = exact_gpt2_small(3);
    config.sync.backend = backend;
    const auto needs = stage_sizes(config).needs;
    const RunPlan plan = planned(config);
    ASSERT_EQ(needs.size(), plan.stages.size());
    for (std::size_t stage = 0; stage < needs.size(); ++stage) {
      const std::size_t replicas = plan.stages[stage].replicas;
      const DeviceNeed device = device_need(config, cut_of(config).value(), stage, replicas);
      EXPECT_EQ(needs[stage].memory_bytes, plan.stages[stage].credits.total_bytes) << stage;
      EXPECT_EQ(needs[stage].on_gpu.memory_bytes, bytes_at(device, device.held)) << stage;
      EXPECT_EQ(needs[stage].on_gpu.host_bytes, plan.stages[stage].beside_gpu) << stage;
      EXPECT_LT(needs[stage].on_gpu.host_shared_bytes, needs[stage].on_gpu.host_bytes) << stage;
    }
  }
  Config alone = exact_gpt2_small(3);
  alone.pipeline.replicas = 1;
  EXPECT_LT(stage_sizes(alone).needs[0].on_gpu.host_bytes, stage_sizes(exact_gpt2_small(3)).needs[0].on_gpu.host_bytes)
      << "control: it sums up nothing";
}

}  // namespace
}  // namespace shoal::stage_sizes_test
