// Whole moves of replicas between stages, with the supervisor's other duties: leave, join, and what stands in their
// way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/supervisor_bench.h"

namespace shoal::moves_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

SupervisorConfig three_and_one() {
  SupervisorConfig config = two_by_two();
  config.replicas = ReplicasWanted({3, 1});
  config.steps_target = 1000;
  config.rebalance_every = 10s;
  return config;
}

// Four workers, three of them in stage 0.
struct MovingRun {
  explicit MovingRun(const SupervisorConfig& config = three_and_one()) : bench(config) { bench.train(); }

  void report(double ms = 100) {
    for (const std::uint32_t stage : {0U, 1U}) {
      for (const ReplicaMember& member : members(stage)) report(member.incarnation, ms);
    }
  }
  void report(Incarnation who, double ms) { bench.hear(MeasuredWork{who, ms, 10}); }
  [[nodiscard]] std::vector<ReplicaMember> members(std::uint32_t stage) const {
    return bench.core.view().replicas_of(StageId{stage});
  }
  [[nodiscard]] SpawnStage last_order() const { return bench.all<SpawnStage>().back(); }
  // The newest order's replica and the members of its stage have the state of the committed steps.
  void copy_state() {
    const SpawnStage order = last_order();
    const std::uint64_t version = bench.core.view().committed_steps();
    bench.hear(StageReady{order.stage, members(order.stage.value).front().incarnation, {}, version, 7});
    bench.hear(StageReady{order.stage, order.replica, {}, version, 7});
  }

  SupervisorBench bench;
};

struct Moves : testing::Test, MovingRun {};

TEST_F(Moves, AReplicaLeavesAtACommitAndItsWorkerJoinsTheOtherStage) {
  report();
  bench.beat(10);
  ASSERT_TRUE(bench.has_event(RunEventKind::kMoving));
  ASSERT_EQ(bench.avoided.size(), 1U);
  const auto mover = bench.core.view().find(bench.avoided.front());
  ASSERT_TRUE(mover);
  EXPECT_THAT(bench.core.explain_waiting(bench.now), HasSubstr("moves from stage 0 to stage 1"));
  EXPECT_EQ(members(0).size(), 3U) << "it works on the step";
  bench.step();
  EXPECT_EQ(members(0).size(), 2U);
  const std::size_t orders = bench.all<SpawnStage>().size();
  bench.beat(1);
  ASSERT_EQ(bench.all<SpawnStage>().size(), orders + 1);
  EXPECT_EQ(last_order().stage, StageId{1});
  EXPECT_EQ(last_order().donor, members(1).front().incarnation);
  copy_state();
  ASSERT_EQ(members(1).size(), 2U);
  EXPECT_EQ(members(1).back().process, mover->process);
  bench.beat(1);
  EXPECT_TRUE(bench.has_event(RunEventKind::kMoved));
  EXPECT_TRUE(bench.all<EndProcess>().empty()) << "nobody's process ends";
}

TEST_F(Moves, TheStageThatGaveAReplicaIsNotFilledAgain) {
  report();
  bench.beat(10);
  bench.step();
  bench.beat(1);
  copy_state();
  report();
  for (int second = 0; second < 40; ++second) bench.beat(1);
  EXPECT_EQ(members(0).size(), 2U);
  EXPECT_EQ(members(1).size(), 2U) << "and nobody moves back";
}

// Without a move, and without anybody free, all would go back to the state that it saves.
TEST_F(Moves, TheLastOfAStageLeavesWhenAnotherHasComeFromElsewhere) {
  report();
  bench.beat(1);
  const ProcessIncarnation leaver = members(1).front().process;
  bench.hear(Leaving{leaver, "SIGTERM"});
  bench.beat(1);
  ASSERT_TRUE(bench.has_event(RunEventKind::kMoving));
  bench.step();
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty()) << "its state is copied, not saved";
  EXPECT_TRUE(bench.all<EndProcess>().empty()) << "it serves until then";
  bench.beat(1);
  EXPECT_EQ(last_order().stage, StageId{1});
  copy_state();
  ASSERT_EQ(members(1).size(), 2U);
  bench.step();
  ASSERT_EQ(bench.all<EndProcess>().size(), 1U);
  EXPECT_EQ(bench.all<EndProcess>()[0].exit_status, 0U);
  ASSERT_EQ(members(1).size(), 1U);
  EXPECT_NE(members(1).front().process, leaver);
  EXPECT_FALSE(bench.has_event(RunEventKind::kRolledBack));
}

TEST(MovingRun, HasNoMovesWithoutAPeriod) {
  SupervisorConfig config = three_and_one();
  config.rebalance_every.reset();
  MovingRun run(config);
  run.report();
  run.bench.beat(60);
  EXPECT_FALSE(run.bench.has_event(RunEventKind::kMoving));
}

TEST_F(Moves, AMoverThatDiesIsReplacedLikeAnybody) {
  report();
  bench.beat(10);
  const auto mover = bench.core.view().find(bench.avoided.front());
  bench.step();
  bench.beat(1);
  bench.lose(mover->process);
  EXPECT_TRUE(bench.has_event(RunEventKind::kMoveGivenUp));
  bench.join(9);
  bench.beat(1);
  EXPECT_EQ(last_order().stage, StageId{1}) << "the stage with the least capacity";
}

TEST_F(Moves, ALostDataLoaderAvoidsTheMoverAgain) {
  report();
  bench.beat(10);
  const auto avoided = bench.avoided;
  ASSERT_EQ(avoided.size(), 1U);
  bench.avoided.clear();
  bench.perform(bench.core.data_loader_ended("a bug", bench.now));
  EXPECT_EQ(bench.avoided, avoided);
}

TEST(MovingRun, SendsANewcomerToTheStageThatIsSlowest) {
  for (const bool is_by_speed : {true, false}) {
    SupervisorConfig config = three_and_one();
    config.replicas_max = 9;
    if (!is_by_speed) config.rebalance_every.reset();
    MovingRun run(config);
    for (const ReplicaMember& member : run.members(0)) run.report(member.incarnation, 1000);
    run.report(run.members(1).front().incarnation, 10);
    run.bench.join(9);
    run.bench.beat(1);
    EXPECT_EQ(run.last_order().stage, is_by_speed ? StageId{0} : StageId{1}) << "control: by count it is the other one";
  }
}

}  // namespace
}  // namespace shoal::moves_test
