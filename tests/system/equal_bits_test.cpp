// The promise of exact mode, with real processes: however the run is cut, copied, ordered or recomputed, the weights
// are those of one process, bit for bit, with a clipping that bites. Without exact mode they are not (the control).
#include <gtest/gtest.h>

#include <ostream>

#include "tests/support/process_scene.h"

namespace shoal::equal_bits_test {
namespace {

constexpr int kSteps = 30;

struct Wiring {
  const char* name;
  int stages;
  int replicas;
  std::vector<std::string> sets;
};
std::ostream& operator<<(std::ostream& out, const Wiring& wiring) { return out << wiring.name; }

SmallRun exact(int stages, int replicas, std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), "sync.reduction=exact");
  return {stages, replicas, kSteps, std::move(sets)};
}

void expect_clipping_bites(const RunRecords& records) {
  ASSERT_FALSE(records.steps.empty());
  for (const auto& step : records.steps) EXPECT_GT(step.grad_norm, 0.5) << "step " << step.step;
}

class ExactBits : public testing::TestWithParam<Wiring> {};

TEST_P(ExactBits, AreThoseOfASingleProcess) {
  ProcessScene scene;
  const Wiring& wiring = GetParam();
  ASSERT_EQ(scene.run_to_end(train(scene, "single", exact(2, 2), {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", exact(wiring.stages, wiring.replicas, wiring.sets))), 0);
  const auto records = scene.records();
  expect_clipping_bites(records);
  EXPECT_EQ(records.steps.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(records.weights().size(), 64U);
  EXPECT_EQ(records.weights(), scene.records("single").weights());
}

INSTANTIATE_TEST_SUITE_P(
    Wirings, ExactBits,
    testing::Values(Wiring{"OneStageTwoReplicas", 1, 2, {}}, Wiring{"TwoStages", 2, 1, {}},
                    Wiring{"TwoStagesTwoReplicas", 2, 2, {}}, Wiring{"FourStages", 4, 1, {}},
                    Wiring{"TwoStagesThreeReplicas", 2, 3, {}},
                    Wiring{"AllForwardFirst", 2, 2, {"pipeline.schedule=afab"}},
                    Wiring{"Recomputed", 2, 2, {"pipeline.recompute=true"}},
                    Wiring{"RecomputedAllForwardFirst", 4, 1, {"pipeline.recompute=true", "pipeline.schedule=afab"}},
                    Wiring{"OneCredit", 2, 2, {"pipeline.credits=1", "pipeline.routing=static"}},
                    Wiring{"UniformPaths", 2, 2, {"pipeline.routing=uniform"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(ExactBits, TheSingleProcessDoesNotDependOnRecomputation) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "kept", exact(1, 1), {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "again", exact(1, 1, {"pipeline.recompute=true"}), {"--single"})), 0);
  EXPECT_EQ(scene.records("kept").weights(), scene.records("again").weights());
}

TEST(ExactBits, FastReductionHasOthers) {
  ProcessScene scene;
  const SmallRun fast{2, 2, kSteps, {"sync.reduction=fast"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "single", fast, {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", fast)), 0);
  EXPECT_EQ(scene.records().weights().size(), 64U);
  EXPECT_NE(scene.records().weights(), scene.records("single").weights());
}

TEST(ExactBits, AnotherSeedHasOthers) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "seven", exact(1, 1), {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "eight", exact(1, 1, {"run.seed=8"}), {"--single"})), 0);
  EXPECT_NE(scene.records("seven").weights(), scene.records("eight").weights());
}

}  // namespace
}  // namespace shoal::equal_bits_test
