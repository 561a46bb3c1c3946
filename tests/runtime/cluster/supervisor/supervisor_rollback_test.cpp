// A stage that lost its last replica: all stages go back to a checkpoint together, on a new branch, in place.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/supervisor_bench.h"

namespace shoal {
namespace {

using std::chrono::seconds;
using Phase = SupervisorCore::Phase;

struct Trained : SupervisorBench {
  explicit Trained(SupervisorConfig config = long_run()) : SupervisorBench(std::move(config)) {
    train();
    for (int i = 0; i < 3; ++i) step();
    checkpoint = StartPoint{2, 2, true, "sha"};
  }
  static SupervisorConfig long_run() {
    SupervisorConfig config = two_by_two();
    config.steps_target = 9;
    return config;
  }
  void lose_stage(std::uint32_t stage) {
    while (core.phase() == Phase::kTraining) lose(process_of(stage, 0));
  }
  // All replicas that were asked for since the last time.
  void ready_again() {
    const auto orders = all<SpawnStage>();
    for (; told_ < orders.size(); ++told_) {
      const SpawnStage& order = orders[told_];
      hear(StageReady{order.stage, order.replica, {}, order.version, 5});
    }
  }
  std::size_t told_ = 4;
};

TEST(SupervisorRollback, TheLastReplicaOfAStageSendsAllStagesBack) {  // P-29
  Trained bench;
  bench.lose_stage(1);
  EXPECT_EQ(bench.not_beyond, 3U);
  EXPECT_TRUE(bench.has_event("stage_lost"));
  EXPECT_TRUE(bench.has_event("rolled_back"));
  EXPECT_EQ(bench.core.view().replica_count(), 0U) << "every member is removed by an entry";
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
  EXPECT_EQ(bench.loaders, 2);
  EXPECT_FALSE(bench.ended);
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  EXPECT_EQ(bench.last_commit().optimizer_step, 3U);
}

// The pause was nobody else's: what a roll-back costs can be added up from the times of steps.
TEST(SupervisorRollback, TheFirstStepOfABranchTookAllTheTimeSinceTheLastCommit) {
  Trained bench;
  bench.later(seconds(1));
  bench.lose_stage(1);
  bench.later(seconds(2));
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.ready_again();
  ASSERT_EQ(bench.core.phase(), Phase::kTraining);
  bench.now += seconds(3);
  bench.step();
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_DOUBLE_EQ(bench.last_commit().step_ms, 6000);
}

TEST(SupervisorRollback, AStepThatCanStillCommitIsSettledFirst) {
  Trained bench;
  bench.lose(bench.process_of(1, 0));
  bench.hear(bench.vote_of(1));
  bench.lose(bench.process_of(1, 0));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_FALSE(bench.not_beyond);
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(bench.not_beyond, 4U) << "the step is committed before";
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
}

TEST(SupervisorRollback, WithoutACheckpointAllBeginAgain) {
  Trained bench;
  bench.checkpoint = StartPoint{};
  bench.lose_stage(0);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  EXPECT_FALSE(bench.all<SpawnStage>().back().from_checkpoint);
  bench.ready_again();
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);
}

TEST(SupervisorRollback, ANewBranchBeginsAlsoAtTheNewestStep) {
  Trained bench;
  bench.checkpoint = StartPoint{3, 3, true, "sha"};
  bench.lose_stage(0);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
}

TEST(SupervisorRollback, WhenNoCheckpointIsGoodTheRunEndsWith3) {
  Trained bench;
  bench.checkpoint.reset();
  bench.lose_stage(0);
  EXPECT_EQ(bench.exit_status(), 3);
}

// One that came to its end on the dead branch pushed out the chosen one (checkpoint.keep).
TEST(SupervisorRollback, FromACheckpointThatIsGoneItGoesBackToAnother) {
  for (const bool is_there_another : {true, false}) {
    Trained bench;
    bench.lose_stage(1);
    for (const std::uint64_t number : {7, 8}) bench.join(number);
    bench.later(seconds(0));
    ASSERT_EQ(bench.all<SpawnStage>().back().version, 2U);
    if (is_there_another) bench.checkpoint = StartPoint{3, 3, true, "newer"};
    for (int failure = 0; failure < StartingReplicas::kFailuresMax; ++failure) {
      const SpawnStage order = bench.all<SpawnStage>().back();
      bench.hear(StageEnded{order.stage, order.replica, "storage cannot give the state after step 2", {}});
    }
    bench.sent.clear();
    bench.later(seconds(0));
    if (!is_there_another) {
      EXPECT_EQ(bench.exit_status(), 3);
      EXPECT_NE(bench.ended->reason.find("storage cannot give the state"), std::string::npos);
      continue;
    }
    EXPECT_EQ(bench.not_beyond, 3U) << "nor to a later one that no step of this branch led to";
    bench.ready();
    EXPECT_EQ(bench.core.phase(), Phase::kTraining);
    EXPECT_EQ(bench.core.view().branch(), Branch{1});
    EXPECT_EQ(bench.core.view().committed_steps(), 3U);
    EXPECT_EQ(bench.core.view().replica_count(), 4U);
  }
}

TEST(SupervisorRollback, AfterAWhileOneReplicaPerStageWillDo) {
  Trained bench;
  bench.lose_stage(1);
  bench.later(seconds(1));
  EXPECT_TRUE(bench.all<SpawnStage>().size() == 4U) << "two workers are left, and four are waited for";
  std::vector<ProcessIncarnation> all;
  for (const Welcome& welcome : bench.all<Welcome>()) all.push_back(welcome.process);
  bench.beat(all, 10);
  bench.ready_again();
  for (int second = 0; second < 11 && bench.core.phase() != Phase::kTraining; ++second) bench.beat(all, 1);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replica_count(), 2U);
}

TEST(SupervisorRollback, ALossWhileRollingBackIsAnotherTryOnTheSameBranch) {
  Trained bench;
  bench.lose_stage(1);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  EXPECT_EQ(bench.core.phase(), Phase::kSpawning);
  bench.lose(bench.all<Welcome>().back().process);
  bench.join(9);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  bench.lose_stage(0);
  for (const std::uint64_t number : {10, 11}) bench.join(number);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.view().branch(), Branch{2});
}

TEST(SupervisorRollback, AReplicaThatWasStillStartingIsEnded) {
  Trained bench;
  bench.lose_stage(1);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  bench.perform(bench.core.found(StartPoint{}, bench.now));
  EXPECT_TRUE(bench.all<EndStage>().empty()) << "nobody asked";
  EXPECT_EQ(bench.core.phase(), Phase::kSpawning);
}

TEST(SupervisorRollback, ACheckpointOfTheDeadBranchDoesNotCount) {
  Trained bench;
  bench.lose_stage(1);
  bench.hear(CheckpointSaved{Branch{0}, 3, "dead", 1, 0.1});
  EXPECT_FALSE(bench.has_event("checkpoint"));
}

TEST(SupervisorRollback, WithoutAnyProgressTheProcessesAreStartedAgain) {
  Trained bench;
  std::uint64_t number = 10;
  for (int i = 0; i < 30 && !bench.ended; ++i) {
    bench.lose_stage(0);
    for (int node = 0; node < 2; ++node) bench.join(++number);
    bench.later(seconds(0));
    bench.ready_again();
  }
  EXPECT_EQ(bench.exit_status(), 1);
  EXPECT_NE(bench.ended->reason.find("again and again"), std::string::npos);
}

}  // namespace
}  // namespace shoal
