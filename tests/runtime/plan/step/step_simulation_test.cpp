// Tests simulated steps: against the best split of whole microbatches, with links, with a machine that slows down.
#include "runtime/plan/step/step_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/plan/resources/step_time.h"
#include "runtime/plan/step/ring_time.h"
#include "runtime/plan/step/step_bound.h"
#include "runtime/plan/step/step_report.h"

namespace shoal::step_simulation_test {
namespace {

StepScene scene_of(const std::vector<std::vector<double>>& pass_s, int microbatches, Routing routing) {
  StepScene scene;
  scene.config.batch = {microbatches, 1};
  scene.config.pipeline.stages = static_cast<int>(pass_s.size());
  scene.config.pipeline.routing = routing;
  scene.sum_bytes.assign(pass_s.size(), 0);
  scene.state_bytes.assign(pass_s.size(), 0);
  scene.loads.assign(pass_s.size(), 1);
  scene.borders.resize(pass_s.size() - 1);
  scene.commit_s = 0;
  for (std::size_t stage = 0; stage < pass_s.size(); ++stage) {
    for (const double one : pass_s[stage]) scene.machines.push_back({"m", stage, {{0, one}}, {}});
  }
  return scene;
}

double best_s(const std::vector<double>& pass_s, std::uint64_t microbatches) {
  std::vector<double> microbatch_s;
  for (const double one : pass_s) microbatch_s.push_back(3 * one);
  return best_split(microbatch_s, microbatches).takes_s;
}

double simulated_s(const StepScene& scene) { return median_s(simulate_steps(scene)); }

void set_links(StepScene& scene, const StepLink& link) {
  for (StepMachine& machine : scene.machines) machine.link = link;
  scene.spawner = link;
}

TEST(StepSimulation, OneToOneToThreeIsNearTheBestSplitByPolicy) {
  const std::vector<double> pass_s{0.15, 0.15, 0.45};
  const double best = best_s(pass_s, 42);
  EXPECT_DOUBLE_EQ(best, 8.1);
  EXPECT_LE(simulated_s(scene_of({pass_s}, 42, Routing::kCostToGo)), best / 0.95);
  EXPECT_LE(simulated_s(scene_of({pass_s}, 42, Routing::kIwrr)), best / 0.95);
  EXPECT_GT(simulated_s(scene_of({pass_s}, 42, Routing::kUniform)), best / 0.9);  // negative control
}

TEST(StepSimulation, IsTheSameEachTimeAndNeverFasterThanTheBestSplit) {
  const std::vector<double> pass_s{0.1, 0.2, 0.25};
  for (const Routing routing : {Routing::kStatic, Routing::kUniform, Routing::kIwrr, Routing::kCostToGo}) {
    const StepScene scene = scene_of({pass_s, {0.05, 0.06}}, 30, routing);
    const auto steps = simulate_steps(scene);
    ASSERT_EQ(steps.size(), scene.steps);
    for (const SimulatedStep& step : steps) {
      EXPECT_GE(step.takes_s, best_s(pass_s, 30));
      EXPECT_EQ(step.shares[0] + step.shares[1] + step.shares[2], 30U);
      EXPECT_EQ(step.shares[3] + step.shares[4], 30U);
    }
    EXPECT_EQ(simulated_s(scene), median_s(steps));
  }
}

// The first microbatch comes to the last stage, and the last one's answer goes back; nothing else is added.
TEST(StepSimulation, AStepOfOnePathIsTheSumOfItsParts) {
  constexpr double kPass = 0.125;  // times are sums of it without rounding: which of two things comes first stays
  StepScene scene = scene_of({{kPass}, {kPass}}, 8, Routing::kIwrr);
  const double without = simulated_s(scene);
  EXPECT_GE(without, (8 * 3 + 1) * kPass);
  EXPECT_LE(without, (8 * 3 + 3) * kPass + 1e-9);
  scene.commit_s = 0.5;
  EXPECT_NEAR(simulated_s(scene), without + 0.5, 1e-9);
}

// A bucket of all goes round hop by hop; of a hundred each member sends two thirds there and back all the time.
TEST(RingTime, IsThatOfItsSlowestMemberWhereBucketsAreMany) {
  const std::vector<StepLink> hops{{0, 8e9}, {0, 8e6}, {0, 8e6}};
  EXPECT_NEAR(ring_time_s(hops, 3e6, 3e6), 6, 0.01) << "two slow hops";
  EXPECT_NEAR(ring_time_s(hops, 3e6, 3e4), 4, 0.1) << "four thirds of the sum";
  EXPECT_DOUBLE_EQ(ring_time_s({{0.1, 8e6}, {0.1, 8e6}}, 8, 8), 2 * 0.1 + 2 * 8e-6);
  EXPECT_EQ(ring_time_s({{0.1, 8e6}}, 3e6, 3e4), 0) << "alone";
  EXPECT_EQ(ring_time_s(hops, 0, 3e4), 0);
}

// In one stage behind a link: the way of the first microbatch, all others, the sum at the rate of the slowest link.
TEST(StepBound, CountsWhatNoComputingHides) {
  StepScene scene = scene_of({{0.1, 0.1}}, 4, Routing::kCostToGo);
  EXPECT_DOUBLE_EQ(step_bound_s(scene, 0), best_split_s(scene, 0));
  scene.machines[1].link = {0.01, 8e6};
  scene.token_bytes = 1e4;
  scene.sum_bytes = {1e6};
  EXPECT_NEAR(step_bound_s(scene, 0), (0.01 + 0.01) + 0.6 + 3 * 0.01 + (1 + 0.01), 1e-9);
  scene.token_bytes = 1e6;
  EXPECT_NEAR(step_bound_s(scene, 0), 4 * 0.3 + 3 * 0.01 + (1 + 0.01), 1e-9)
      << "the other one computes all in that time";
}

TEST(StepBound, NoStepIsFaster) {
  const std::uint64_t seed = 21;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto draw = [&random](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  for (int trial = 0; trial < 60; ++trial) {
    const Routing routing = trial % 2 == 0 ? Routing::kCostToGo : Routing::kIwrr;
    std::vector<std::vector<double>> pass_s(1 + static_cast<std::size_t>(trial) % 3);
    for (auto& stage : pass_s) {
      stage.resize(1 + random() % 3);
      for (double& one : stage) one = draw(0.02, 0.3);
    }
    StepScene scene = scene_of(pass_s, 12, routing);
    for (StepMachine& machine : scene.machines) machine.link = {draw(0, 0.1), draw(5e6, 1e8)};
    for (BorderTraffic& border : scene.borders) border = {random() % 300'000, random() % 300'000};
    for (double& bytes : scene.sum_bytes) bytes = draw(0, 1e6);
    scene.token_bytes = draw(0, 1e5);
    const double bound_s = step_bound_s(scene, 0);
    for (const SimulatedStep& step : simulate_steps(scene)) {
      EXPECT_GE(step.takes_s, bound_s * (1 - 1e-9)) << "trial " << trial;
      EXPECT_LE(step.takes_s, 4 * bound_s) << "trial " << trial;  // the bound says something
    }
  }
}

// Credits of the schedule alone leave replicas idle where links take long; those that links bring do not.
TEST(StepSimulation, CreditsHideLatency) {
  StepScene scene = scene_of({{0.21, 0.21}, {0.21, 0.21}}, 32, Routing::kIwrr);
  const double without = simulated_s(scene);
  set_links(scene, {0.1, 1e12});
  const double by_links = simulated_s(scene);
  scene.config.pipeline.credits = 3;
  const double by_schedule = simulated_s(scene);
  EXPECT_GE(without / by_links, 0.9);
  EXPECT_LT(without / by_schedule, 0.9);
}

// One fast machine feeds three slow ones.
TEST(StepSimulation, AStageWithFewReplicasKeepsAnotherBusy) {
  StepScene scene = scene_of({{0.02}, {0.15, 0.15, 0.15}}, 42, Routing::kCostToGo);
  set_links(scene, {0.03, 1e12});
  const double best = best_s({0.15, 0.15, 0.15}, 42);
  EXPECT_LE(simulated_s(scene), best / 0.9);
  scene.config.pipeline.credits = 3;
  EXPECT_GT(simulated_s(scene), best / 0.9);  // negative control
}

TEST(StepSimulation, ASlowLinkIsTheSlowestStage) {
  StepScene scene = scene_of({{0.01}, {0.01}}, 20, Routing::kIwrr);
  scene.borders[0] = {1'000'000, 1'000'000};
  set_links(scene, {0, 8e6});
  EXPECT_GE(simulated_s(scene), 20.0);
  EXPECT_LE(simulated_s(scene), 22.5);
}

TEST(StepSimulation, SharesFollowAMachineThatSlowsDownAndRecovers) {
  StepScene scene = scene_of({{0.15, 0.15, 0.15}}, 42, Routing::kCostToGo);
  scene.steps = 9;
  scene.machines[2].passes = {{0, 0.15}, {19, 0.45}, {45, 0.15}};
  const auto steps = simulate_steps(scene);
  EXPECT_EQ(steps[1].shares[2], 14U);
  EXPECT_NEAR(steps[4].shares[2], 6, 1);
  EXPECT_NEAR(steps[8].shares[2], 14, 1);
}

// As tests/bench/moves measures it: three moves, one at a time, and then as many replicas of each stage.
TEST(StepSimulation, ReplicasMoveToWhereCapacityIsShort) {
  StepScene scene = scene_of({{0.025, 0.025, 0.025, 0.025, 0.025}, {0.025}, {0.025}, {0.025}}, 24, Routing::kIwrr);
  scene.steps = 16;
  const auto still = simulate_steps(scene);
  scene.config.swarm.rebalance_every_s = 3;
  const auto moved = simulate_steps(scene);
  EXPECT_THAT(still.back().replicas, testing::ElementsAre(5, 1, 1, 1));
  EXPECT_THAT(moved.back().replicas, testing::ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(moved.back().moves, 3U);
  EXPECT_LT(moved.back().takes_s, 0.7 * still.back().takes_s);
  const auto balanced =
      simulate_steps(scene_of({{0.025, 0.025}, {0.025, 0.025}, {0.025, 0.025}, {0.025, 0.025}}, 24, Routing::kIwrr));
  EXPECT_NEAR(moved.back().takes_s, balanced.back().takes_s, 0.1 * balanced.back().takes_s);
}

// One that becomes three times as slow has another best split from then on.
TEST(StepReport, ComparesWithTheBestSplitOfTheSpeedsThatMachinesHave) {
  StepScene scene = scene_of({{0.1, 0.1}}, 4, Routing::kCostToGo);
  EXPECT_DOUBLE_EQ(best_split_s(scene, 0), 0.6);
  scene.machines[0].passes.push_back({0.5, 0.3});
  EXPECT_DOUBLE_EQ(best_split_s(scene, 0.4), 0.6);
  EXPECT_DOUBLE_EQ(best_split_s(scene, 0.5), 0.9);
  const StepReport report{&scene, {{1, {}, {2}, 0}, {1, {}, {2}, 0}, {1, {}, {2}, 0}}};
  EXPECT_THAT(text_of(report), testing::HasSubstr("90.0 % of the best split of whole microbatches (900 ms)"));
}

TEST(StepReport, SaysTheMedianBehindTheFirstTwo) {
  const StepScene scene = scene_of({{0.1}}, 4, Routing::kIwrr);
  const StepReport report{&scene, {{9, {4}, {1}, 0}, {9, {4}, {1}, 0}, {2, {4}, {1}, 0}, {4, {4}, {1}, 0}}};
  EXPECT_DOUBLE_EQ(median_s(report.steps), 3);
  EXPECT_THAT(text_of(report),
              testing::HasSubstr("median 3000 ms, 40.0 % of the best split of whole microbatches (1200 ms)"));
  EXPECT_THAT(json_of(report), testing::HasSubstr("\"percent_of_best_split\": 40.0"));
}

}  // namespace
}  // namespace shoal::step_simulation_test
