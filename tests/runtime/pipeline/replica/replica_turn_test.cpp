// Tests what a call of the core collects, and where its time goes.
#include "runtime/pipeline/replica/replica_turn.h"

#include <gtest/gtest.h>

#include "tests/support/member_bench.h"

namespace shoal::replica_turn_test {
namespace {

struct Turn {
  ReplicaStanding standing{setup_of(kB0)};
  ReplicaTurn turn{standing, ReplicaBench::start()};
};

TEST(ReplicaTurn, GivesEffectsInTheOrderInWhichTheyWereAskedForAndOnce) {
  Turn one;
  one.turn.send(to_supervisor(), FetchJournal{});
  one.turn.send_to_peer(kB1, Missing{});
  one.turn.run(ZeroJob{}, Activity::kReduce);
  const Effects effects = one.turn.finish();
  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(std::get<SendLetter>(effects[0]).letter.to, to_supervisor());
  EXPECT_EQ(std::get<SendLetter>(effects[1]).letter.to, (Address{{}, Role::kStage, StageId{1}, kB1}));
  EXPECT_TRUE(std::holds_alternative<ZeroJob>(std::get<RunJob>(effects[2]).job));
  EXPECT_TRUE(one.turn.finish().empty());
}

TEST(ReplicaTurn, EndsTheMembershipAtOnce) {
  Turn one;
  one.standing.membership = Membership::kMember;
  one.turn.end("test");
  EXPECT_EQ(one.standing.membership, Membership::kEnded);
  EXPECT_EQ(std::get<End>(one.turn.finish().at(0)).reason, "test");
}

TEST(ReplicaTurn, KnowsWhetherAJobRunsAndWhatItTook) {
  Turn one;
  EXPECT_FALSE(one.turn.is_running());
  one.turn.run(ZeroJob{}, Activity::kReduce);
  EXPECT_TRUE(one.turn.is_running());
  one.turn.complete(ReplicaBench::start() + std::chrono::milliseconds(3));
  EXPECT_FALSE(one.turn.is_running());
  EXPECT_FLOAT_EQ(one.turn.job_ms(), 3);
}

// The time of a replica that computes nothing is spent on what it waits for.
TEST(ReplicaTurn, CountsRestingTimeByThePhase) {
  const auto rest = [](Phase phase) {
    Turn one;
    one.standing.phase = phase;
    (void)one.turn.finish();
    one.turn.begin(ReplicaBench::start() + std::chrono::milliseconds(5));
    return one.turn.take_time();
  };
  EXPECT_DOUBLE_EQ(rest(Phase::kOpen).wait, 5);
  EXPECT_DOUBLE_EQ(rest(Phase::kFrozen).reduce, 5);
  EXPECT_DOUBLE_EQ(rest(Phase::kReduced).commit, 5);
}

TEST(ReplicaTurn, GivesEachFactOnceInTheOrderInWhichTheyWereTold) {
  Turn one;
  one.turn.tell(StepOpened{});
  one.turn.tell(NextStep{});
  const auto facts = one.turn.take_facts();
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<StepOpened>(facts[0]));
  EXPECT_TRUE(std::holds_alternative<NextStep>(facts[1]));
  EXPECT_TRUE(one.turn.take_facts().empty());
}

}  // namespace
}  // namespace shoal::replica_turn_test
