// A member between the apply of its step and the next one (sync.mode = diloco): its weights belong to no version then,
// and nobody is given them.
#include <gtest/gtest.h>

#include "tests/runtime/sync/diloco_config.h"
#include "tests/support/member_bench.h"

namespace shoal::replica_rounds_test {
namespace {

constexpr Incarnation kJoiner{29};

// Makes a member that contributes after every step and waits for the round of it.
std::unique_ptr<Bench> make_member_with_rounds() {
  ReplicaSetup setup = setup_of(kB0);
  setup.rounds = diloco(1);
  auto b0 = std::make_unique<Bench>(setup);
  for (const Incarnation replica : {kA0, kA1, kB0, kB1}) b0->admit(replica);
  return b0;
}

void train_step(Bench& b0, const std::vector<Incarnation>& savers = {}) {
  for (std::uint32_t microbatch = 0; microbatch < kMicrobatches; ++microbatch) b0.give(forward_to(kB0, microbatch));
  b0.run_all();
  b0.prepare(1);
  b0.reduce_alone(1);
  Commit commit = b0.commit(1);
  commit.checkpoint_by = savers;
  b0.journal(commit);
}

// The first one, of this member alone.
void agree_on_round(Bench& b0) {
  OrderId order = b0.order(1, 1);
  order.round = RoundId{0, 1};
  b0.give(Prepare{order, {}});
  b0.give(Reduce{order, {kB0}, 40});
  const auto reduced = b0.take<Reduced>();
  ASSERT_FALSE(reduced.empty());
  b0.journal(CommitRound{order.stage, order.step, order.round, order.epoch, reduced.back().digest, {{kB0, 40}}, 0});
}

struct Given {
  std::vector<SaveShard> shards;
  std::vector<StateImage> images;
};

// Returns its answers to one that wants the state after so many steps.
Given ask_for_state(Bench& b0, std::uint64_t version) {
  b0.give(SaveState{{}, version, StageId{1}, kB0});
  b0.give(FetchState{kJoiner, version, {"w"}, kB0, {}});
  return {b0.take<SaveShard>(), b0.take<StateImage>()};
}

TEST(Boundary, GivesNobodyTheWeightsOfNoVersion) {
  auto b0 = make_member_with_rounds();
  train_step(*b0);
  ASSERT_EQ(b0->core.version(), 0U) << "the round is not agreed";
  for (const std::uint64_t version : {0, 1}) {
    const Given given = ask_for_state(*b0, version);
    EXPECT_TRUE(given.shards.empty()) << version;
    EXPECT_TRUE(given.images.empty()) << version;
  }
  ASSERT_NO_FATAL_FAILURE(agree_on_round(*b0));
  EXPECT_EQ(b0->core.version(), 1U) << "the step that was being applied is not forgotten";
  const Given given = ask_for_state(*b0, 1);  // the control
  ASSERT_EQ(given.shards.size(), 1U);
  EXPECT_EQ(given.shards[0].step, 1U);
  EXPECT_EQ(given.shards[0].image, b0->executor.state_image());
  ASSERT_EQ(given.images.size(), 1U);
  EXPECT_EQ(given.images[0].step, 1U);
  EXPECT_FALSE(b0->ended);
}

// A joiner asks when it is told of a round: where rounds follow fast, each of its questions comes to a boundary.
TEST(Boundary, IsFollowedByWhatJoinersAskedForAtIt) {
  auto b0 = make_member_with_rounds();
  train_step(*b0);
  const Incarnation other{kJoiner.value + 1};
  b0->give(FetchState{kJoiner, 1, {"w"}, kB0, {}});
  b0->give(FetchState{other, 1, {"w"}, kB0, {}});
  b0->give(FetchState{kJoiner, 1, {"w"}, kB0, {}});  // impatient: it gets one all the same
  EXPECT_TRUE(b0->take<StateImage>().empty());
  ASSERT_NO_FATAL_FAILURE(agree_on_round(*b0));
  const auto images = b0->take<StateImage>();
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[0].replica, kJoiner);
  EXPECT_EQ(images[1].replica, other);
  for (const StateImage& image : images) {
    EXPECT_EQ(image.step, 1U);
    EXPECT_EQ(image.image, b0->executor.state_image());
  }
}

TEST(Boundary, IsFollowedByNothingThatNobodyAskedFor) {
  auto b0 = make_member_with_rounds();
  train_step(*b0);
  ASSERT_NO_FATAL_FAILURE(agree_on_round(*b0));
  EXPECT_TRUE(b0->take<StateImage>().empty());
}

TEST(Boundary, ComesBeforeTheCheckpointOfItsStep) {
  auto b0 = make_member_with_rounds();
  train_step(*b0, {kB0});
  EXPECT_TRUE(b0->take<SaveShard>().empty());
  ASSERT_NO_FATAL_FAILURE(agree_on_round(*b0));
  const auto shards = b0->take<SaveShard>();
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].step, 1U);
  EXPECT_EQ(shards[0].image, b0->executor.state_image());
}

}  // namespace
}  // namespace shoal::replica_rounds_test
