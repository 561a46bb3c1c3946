// A member whose contribution came too late (sync.quorum): it stays one, and goes on with the mean of a peer.
#include <gtest/gtest.h>

#include "tests/runtime/sync/diloco_config.h"
#include "tests/support/member_bench.h"

namespace shoal::replica_missed_rounds_test {
namespace {

// b0 contributes after every step; a round is closed by whoever is there.
class MissedRound : public testing::Test {
 protected:
  MissedRound() : b0_(setup()) {
    for (const Incarnation replica : {kA0, kA1, kB0, kB1}) b0_.admit(replica);
  }
  static ReplicaSetup setup() {
    ReplicaSetup setup = setup_of(kB0);
    setup.rounds = diloco(1);
    setup.rounds->quorum = 1;
    return setup;
  }
  // Ends at the boundary, where the round of this step is not agreed yet.
  void train_step(std::uint64_t step = 0) {
    const auto counter = static_cast<std::uint32_t>(step + 1);
    for (std::uint32_t microbatch = 0; microbatch < kMicrobatches; ++microbatch) {
      b0_.give(forward_to(kB0, microbatch, step));
    }
    b0_.run_all();
    b0_.give(Prepare{b0_.order(counter, step), {}});
    b0_.give(Reduce{b0_.order(counter, step), {kB0}, 40});
    b0_.journal(b0_.commit(counter, step));
  }
  void close_round(const std::vector<RoundShare>& shares, std::uint64_t digest) {
    b0_.journal(CommitRound{StageId{1}, StepId{1}, {0, 1}, Epoch{kGroup, 1}, digest, shares, 0});
  }
  void lose(Incarnation replica) { b0_.journal(RemoveReplica{StageId{1}, replica, "killed"}); }

  const TensorBlob mean_ = make_values(DType::kFloat32, {-3, -5, -7, -9});
  const std::vector<RoundShare> by_peer_{{kB1, 40}};
  Bench b0_;
};

TEST_F(MissedRound, IsClosedWithoutAMemberThatStaysOne) {
  train_step();
  close_round(by_peer_, digest_of_mean(mean_));
  ASSERT_FALSE(b0_.ended) << *b0_.ended;
  EXPECT_EQ(b0_.core.version(), 0U) << "its mean has not come";
  const auto questions = b0_.take<FetchState>();
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_EQ(questions[0], (FetchState{kB0, 1, {}, kB1, {}}));
  b0_.give(StepSum{kB0, kB1, {}, StepId{1}, 40, make_values(DType::kFloat32, {1, 1, 1, 1})});
  EXPECT_EQ(b0_.core.version(), 0U) << "a mean that the journal does not name";
  b0_.give(StepSum{kB0, kB1, {}, StepId{1}, 40, mean_});
  EXPECT_EQ(b0_.core.version(), 1U);
  FakeExecutor peer(FakeShape{1, 2, kMicrobatches, DType::kInt64, *setup().rounds});
  (void)peer.apply_round({0, 1, mean_});
  EXPECT_EQ(b0_.executor.state_digest(), peer.state_digest()) << "S-3";
  train_step(1);  // and it works on
  EXPECT_EQ(b0_.executor.applied_sums().size(), 2U);
  EXPECT_FALSE(b0_.ended);
}

TEST_F(MissedRound, ThatNamesTheMemberEndsIt) {  // P-24: the control
  train_step();
  close_round({{kB0, 40}, {kB1, 40}}, digest_of_mean(mean_));
  ASSERT_TRUE(b0_.ended);
  EXPECT_NE(b0_.ended->find("P-24"), std::string::npos) << *b0_.ended;
}

TEST_F(MissedRound, IsAskedForAgainUntilItsLastHolderIsGone) {
  train_step();
  close_round(by_peer_, digest_of_mean(mean_));
  (void)b0_.take<FetchState>();
  b0_.perform(b0_.core.tick(b0_.now));
  EXPECT_TRUE(b0_.take<FetchState>().empty());
  b0_.now += MissedRounds::kAskAgain;
  b0_.perform(b0_.core.tick(b0_.now));
  EXPECT_EQ(b0_.take<FetchState>().size(), 1U);
  lose(kA1);
  EXPECT_FALSE(b0_.ended);
  lose(kB1);
  EXPECT_TRUE(b0_.ended);
}

TEST_F(MissedRound, HoldsNobodyElseWhenItIsHeldHere) {
  train_step();
  OrderId order = b0_.order(1, 1);
  order.round = RoundId{0, 1};
  b0_.give(Prepare{order, {}});
  b0_.give(Reduce{order, {kB0}, 40});
  const auto reduced = b0_.take<Reduced>();
  ASSERT_FALSE(reduced.empty());
  close_round({{kB0, 40}}, reduced.back().digest);
  ASSERT_EQ(b0_.core.version(), 1U);
  b0_.give(FetchState{kB1, 1, {}, kB0, {}});
  const auto means = b0_.take<StepSum>();
  ASSERT_EQ(means.size(), 1U);
  EXPECT_EQ(means[0].replica, kB1);
  EXPECT_EQ(digest_of_mean(means[0].values), reduced.back().digest);
  EXPECT_TRUE(b0_.take<StateImage>().empty()) << "a member joins nothing";
  b0_.give(FetchState{Incarnation{29}, 1, {"w"}, kB0, {}});  // the control: who does
  EXPECT_EQ(b0_.take<StateImage>().size(), 1U);
}

}  // namespace
}  // namespace shoal::replica_missed_rounds_test
