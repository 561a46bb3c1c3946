// The duty that removes members, and throws all back when a stage has nobody (fallback_test.cpp tests when).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/losses.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::losses_test {
namespace {

struct LossDutyTest : testing::Test, DutyBench {
  LossDutyTest() { train(); }
  LossDuty duty{truth, truth.roster, truth.fallback};
};

TEST_F(LossDutyTest, RemovesAMemberThatAnotherReplaces) {
  truth.roster.ended.insert(replica(0, 1));
  const Answers answers = duty.on(MembersDue{"node3 was lost"}, now);
  ASSERT_EQ(entries<RemoveReplica>(answers).size(), 1U);
  EXPECT_EQ(entries<RemoveReplica>(answers)[0].replica, replica(0, 1));
  EXPECT_EQ(told<MemberLost>(answers).size(), 1U);
  EXPECT_TRUE(entries<RemoveReplica>(duty.on(MembersDue{"again"}, now)).empty()) << "it is asked for once";
}

TEST_F(LossDutyTest, KeepsTheLastReplicaOfAStageInTheView) {
  truth.roster.ended = {replica(0, 0), replica(0, 1)};
  const Answers answers = duty.on(MembersDue{"node1 was lost"}, now);
  EXPECT_TRUE(entries<RemoveReplica>(answers).empty());
  EXPECT_EQ(announced(answers), std::vector<std::string>{"stage_lost"});
  EXPECT_EQ(told<LossDue>(answers).size(), 1U);
  EXPECT_TRUE(announced(duty.on(MembersDue{"again"}, now)).empty());
}

TEST_F(LossDutyTest, SettlesWhatCanStillBeCommittedBeforeAllGoBack) {
  truth.roster.ended = {replica(0, 0), replica(0, 1)};
  Prepared vote = vote_of(0);
  ASSERT_EQ(truth.ballots.hear(vote, truth.view()), std::nullopt);
  (void)duty.on(MembersDue{"node1 was lost"}, now);
  EXPECT_TRUE(duty.on(LossDue{}, now).all().empty()) << "stage 1 can still vote";
  now += std::chrono::seconds(5);
  EXPECT_EQ(told<RollBack>(duty.on(TickCame{}, now)).size(), 1U);
}

TEST_F(LossDutyTest, LooksForAStartNotBeyondWhatIsCommitted) {
  record(commit_of(0));
  const auto wanted = told<StartWanted>(duty.on(RollBack{"stage 0 lost its last replica"}, now));
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(wanted[0].wanted.not_beyond, 1U);
  truth.phase = RunPhase::kRollingBack;
  EXPECT_TRUE(duty.on(RollBack{"again"}, now).all().empty());
}

TEST_F(LossDutyTest, GivesTheRunToItsKeeperWhenRollBacksLeadNowhere) {
  std::vector<EndOfRun> ends;
  for (int time = 0; time < 30 && ends.empty(); ++time) ends = told<EndOfRun>(duty.on(RollBack{"lost"}, now));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status, 1);
}

TEST_F(LossDutyTest, RemovesEverybodyWhenABranchBegins) {
  EXPECT_EQ(entries<RemoveReplica>(duty.on(BranchBegins{}, now)).size(), 4U);
}

TEST_F(LossDutyTest, HasAReplacementStartedBeforeItWaitsForTheDisk) {
  const Answers answers = duty.on(StageEnded{StageId{0}, replica(0, 1), "a bug"}, now);
  EXPECT_EQ(announced(answers), std::vector<std::string>{"stage_ended"});
  EXPECT_LT(place_of<ReplicaFailed>(answers), place_of<WorkersChanged>(answers));
  EXPECT_LT(place_of<WorkersChanged>(answers), place_of<MembersDue>(answers));
  EXPECT_TRUE(duty.on(StageEnded{StageId{0}, replica(0, 1), "a bug"}, now).all().empty()) << "it is known";
}

}  // namespace
}  // namespace shoal::losses_test
