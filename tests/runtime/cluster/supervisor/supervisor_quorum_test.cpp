// sync.quorum: what is contributed to a round waits for replicas before the commit, where they can still join
// (DESIGN.md §6: a group below its quorum never advances).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rounds_every.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_quorum_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

// Contributions after every second step, each round due there.
SupervisorConfig with_quorum(std::uint32_t quorum) {
  SupervisorConfig config = two_by_two();
  config.steps_target = 100;
  config.quorum = quorum;
  config.rounds = rounds_every(2);
  return config;
}

// A replica of stage 0 is lost after the first step.
class Quorum : public testing::Test {
 protected:
  explicit Quorum(std::uint32_t quorum = 2) : bench(with_quorum(quorum)) {
    bench.join(99, ProcessRole::kStorage);
    bench.train();
    bench.step();
    bench.lose(bench.process_of(0, 0));
  }
  [[nodiscard]] std::uint64_t committed() const { return bench.core.view().committed_steps(); }
  [[nodiscard]] std::string why() const { return bench.core.explain_waiting(bench.now); }
  void agree() {
    for (const std::uint32_t stage : {0U, 1U}) {
      Prepared vote = bench.vote_of(stage);
      vote.order.round = {0, committed() / 2};
      vote.order.step = StepId{committed()};
      bench.hear(vote);
    }
  }
  // Both the member it copies and the joiner have the state after so many steps.
  void replace(std::uint64_t version) {
    bench.join(7);
    const SpawnStage order = bench.all<SpawnStage>().back();
    bench.hear(StageReady{order.stage, order.donor, {}, version, 5});
    bench.hear(StageReady{order.stage, order.replica, {}, version, 5});
  }

  SupervisorBench bench;
};

class NoQuorum : public Quorum {
 protected:
  NoQuorum() : Quorum(0) {}
};

TEST_F(Quorum, BelowItTheCommitBeforeContributionsWaitsUntilAReplicaJoins) {
  bench.step();
  bench.later(seconds(1));
  EXPECT_EQ(committed(), 1U);
  EXPECT_THAT(why(), HasSubstr("waiting for 1 more replica of stage 0: no round is closed without 2 (sync.quorum)"));
  bench.later(seconds(6));
  ASSERT_EQ(bench.told.size(), 1U) << "and the person is told";
  EXPECT_THAT(bench.told[0], HasSubstr("sync.quorum"));
  replace(1);
  EXPECT_THAT(why(), Not(HasSubstr("sync.quorum")));
  bench.step();
  EXPECT_EQ(committed(), 2U);
}

TEST_F(NoQuorum, WithoutOneTheRunGoesOn) {  // the control
  bench.step();
  EXPECT_EQ(committed(), 2U);
  EXPECT_THAT(why(), Not(HasSubstr("sync.quorum")));
}

TEST_F(Quorum, OtherStepsDoNotWait) {
  replace(1);
  bench.step();
  agree();
  bench.lose(bench.process_of(0, 0));
  bench.step();
  EXPECT_EQ(committed(), 3U);
  bench.step();
  EXPECT_EQ(committed(), 3U) << "the control";
}

TEST_F(Quorum, AStopDoesNotWaitForIt) {
  bench.step();
  ASSERT_EQ(committed(), 1U);
  bench.perform(bench.core.stop("SIGTERM", 75, bench.now));
  EXPECT_EQ(committed(), 2U) << "at once, with who is there";
  EXPECT_TRUE(bench.last_commit().is_last);
  agree();
  bench.saved(2);
  EXPECT_EQ(bench.exit_status(), 75);
}

TEST_F(Quorum, WhoLeavesMeanwhileNeedNotWait) {
  const OperatorOrder drain{OperatorVerb::kDrain, "stage/1/0", {}, 0, "shoal drain"};
  bench.perform(bench.core.operate(drain, bench.now).effects);
  EXPECT_TRUE(bench.all<EndProcess>().empty()) << "it works on the step";
  bench.step();
  EXPECT_EQ(committed(), 1U);
  EXPECT_EQ(bench.all<EndProcess>().size(), 1U);
  EXPECT_EQ(bench.core.view().replicas_of(StageId{1}).size(), 1U);
}

TEST_F(Quorum, TheLastOfAStageLeavesItsStateBehind) {
  const OperatorOrder drain{OperatorVerb::kDrain, "stage/0/1", {}, 0, "shoal drain"};
  bench.perform(bench.core.operate(drain, bench.now).effects);
  bench.step();
  EXPECT_EQ(committed(), 2U);
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
}

TEST_F(Quorum, AStageGrowsToItBeyondItsReplicas) {
  for (const std::uint32_t quorum : {0U, 3U}) {
    SupervisorBench three(with_quorum(quorum));
    three.train();
    three.join(7);
    EXPECT_EQ(three.all<SpawnStage>().size(), quorum == 3 ? 5U : 4U);
  }
}

}  // namespace
}  // namespace shoal::supervisor_quorum_test
