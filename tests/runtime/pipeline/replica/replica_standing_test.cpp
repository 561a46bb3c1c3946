// How facts and entries change what is true, and what the parts read of it.
#include "runtime/pipeline/replica/replica_standing.h"

#include <gtest/gtest.h>

#include "tests/support/member_bench.h"

namespace shoal::replica_standing_test {
namespace {

ReplicaStanding make_standing() {
  ReplicaStanding standing(setup_of(kB0));
  standing.membership = Membership::kMember;
  return standing;
}

OrderId order_of(std::uint64_t step) { return {kRun, {}, Term{1}, StageId{1}, StepId{step}, Epoch{kGroup, 1}}; }

TEST(ReplicaStanding, IsMeantByOrdersOfItsStepAndOfLaterOnes) {
  ReplicaStanding standing = make_standing();
  standing.state.version = 3;
  EXPECT_FALSE(standing.is_meant_by(order_of(2)));
  EXPECT_TRUE(standing.is_meant_by(order_of(3)));
  EXPECT_TRUE(standing.is_meant_by(order_of(4)));
}

TEST(ReplicaStanding, IsMeantByNoOrderOfAnotherRunBranchStageOrTerm) {
  const ReplicaStanding standing = make_standing();
  OrderId of_run = order_of(0), of_branch = order_of(0), of_stage = order_of(0), of_term = order_of(0);
  of_run.run = RunId{8};
  of_branch.branch = Branch{1};
  of_stage.stage = StageId{0};
  of_term.term = Term{0};
  for (const OrderId& order : {of_run, of_branch, of_stage, of_term}) EXPECT_FALSE(standing.is_meant_by(order));
  EXPECT_TRUE(standing.is_meant_by(order_of(0))) << "the control";
}

// P-25a: an order may come before the entry that makes this replica a member.
TEST(ReplicaStanding, IsMeantAsSoonAsItIsReadyAndNoMoreOnceItHasEnded) {
  ReplicaStanding standing = make_standing();
  const auto is_meant_as = [&](Membership membership) {
    standing.membership = membership;
    return standing.is_meant_by(order_of(0));
  };
  EXPECT_FALSE(is_meant_as(Membership::kLoading));
  EXPECT_TRUE(is_meant_as(Membership::kReady));
  EXPECT_TRUE(is_meant_as(Membership::kMember));
  EXPECT_FALSE(is_meant_as(Membership::kEnded));
}

TEST(ReplicaStanding, EntersAnEpochWithItsTermAndPhase) {
  ReplicaStanding standing = make_standing();
  OrderId order = order_of(0);
  order.term = Term{4};
  standing.hear(EpochEntered{order, Phase::kFrozen});
  EXPECT_EQ(standing.epoch, order.epoch);
  EXPECT_EQ(standing.phase, Phase::kFrozen);
  EXPECT_EQ(standing.order_id(), order);
}

TEST(ReplicaStanding, CountsAStepWhenItHasEnded) {
  ReplicaStanding standing = make_standing();
  standing.state = {5, 4, 100, 7};
  Commit commit;
  commit.token_count = 40;
  commit.optimizer_step = 5;
  standing.hear(StepApplied{9, commit});
  EXPECT_EQ(standing.phase, Phase::kReduced);
  EXPECT_EQ(standing.state.version, 5U) << "its rounds may still be due";
  standing.hear(StepEnded{commit});
  EXPECT_EQ(standing.phase, Phase::kOpen);
  EXPECT_EQ(standing.state.version, 6U);
  EXPECT_EQ(standing.state.optimizer_step, 5U);
  EXPECT_EQ(standing.state.tokens_total, 140U);
  EXPECT_EQ(standing.state.digest, 9U);
}

TEST(ReplicaStanding, KnowsMembersByTheirStage) {
  ReplicaStanding standing = make_standing();
  standing.hear(AddReplica{StageId{1}, {}, kB1, ProcessIncarnation{1}, 0});
  EXPECT_TRUE(standing.knows(kB1, 1));
  EXPECT_FALSE(standing.knows(kB1, 0));
  EXPECT_EQ(standing.members_of_stage(), 1U);
  standing.hear(RemoveReplica{StageId{1}, kB1, "test"});
  EXPECT_FALSE(standing.knows(kB1, 1));
}

TEST(ReplicaStanding, OfTheFirstStageHasTheDataLoaderUpstream) {
  EXPECT_EQ(ReplicaStanding(setup_of(kA0)).upstream(Incarnation{}), to_data_loader());
  EXPECT_EQ(make_standing().upstream(kA1), (Address{{}, Role::kStage, StageId{0}, kA1}));
}

}  // namespace
}  // namespace shoal::replica_standing_test
