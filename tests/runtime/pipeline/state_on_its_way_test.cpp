// Tests who is told of a state that is under way, and what a broken link may have lost.
#include "runtime/pipeline/state_on_its_way.h"

#include <gtest/gtest.h>

namespace shoal::state_on_its_way_test {
namespace {

using namespace std::chrono_literals;

constexpr ProcessIncarnation kHere{3}, kThere{4};
constexpr Incarnation kJoiner{9}, kDonor{4}, kSaver{7};

TensorBlob bytes(std::size_t count) {
  return {DType::kUint8, {static_cast<std::int64_t>(count)}, std::make_shared<AlignedBuffer>(count)};
}

TEST(StateOnItsWay, AnImageIsToldToTheReplicaThatItIsFor) {
  const Letter image{kThere, to_stage(kHere, kJoiner), StateImage{kJoiner, 12, bytes(1000), kDonor, 0, 0}};
  const auto told = progress_of(image, 400, 7ms);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->to, image.to);
  EXPECT_EQ(std::get<StateProgress>(told->body), (StateProgress{{}, 12, {}, kJoiner, kDonor, false, 400, 1000, 7}));
}

TEST(StateOnItsWay, AShardIsToldToTheSupervisorAndHalfDoneWhenItHasCome) {
  SaveShard shard;
  shard.branch = Branch{2};
  shard.step = 30;
  shard.stage = StageId{1};
  shard.replica = kSaver;
  shard.image = bytes(1000);
  const Letter letter{kThere, {kHere, Role::kStorage, {}, {}}, shard};
  const auto told = progress_of(letter, 5000, 7ms);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->to, to_supervisor());
  EXPECT_EQ(std::get<StateProgress>(told->body),
            (StateProgress{Branch{2}, 30, StageId{1}, kSaver, {}, true, 1000, 2000}));
}

TEST(StateOnItsWay, APieceCountsWhatCameBeforeIt) {
  StateImage image{kJoiner, 12, bytes(1000), kDonor, 0, 0, 3000, 9000};
  const auto of_image = progress_of({kThere, to_stage(kHere, kJoiner), image}, 400, 7ms);
  ASSERT_TRUE(of_image);
  EXPECT_EQ(std::get<StateProgress>(of_image->body),
            (StateProgress{{}, 12, {}, kJoiner, kDonor, false, 3400, 9000, 7}));
  SaveShard shard;
  shard.image = bytes(1000);
  shard.offset = 3000;
  shard.bytes_total = 9000;
  const auto of_shard = progress_of({kThere, {kHere, Role::kStorage, {}, {}}, shard}, 5000, 7ms);
  ASSERT_TRUE(of_shard);
  EXPECT_EQ(std::get<StateProgress>(of_shard->body), (StateProgress{{}, 0, {}, {}, {}, true, 4000, 18000}));
}

// The last piece may come though one before it was lost.
TEST(StateOnItsWay, OnlyStorageSaysThatAllPiecesOfAShardAreThere) {
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{8000}}) {
    SaveShard shard;
    shard.image = bytes(1000);
    shard.offset = offset;
    shard.bytes_total = offset + 1000;
    const auto told = progress_of({kThere, {kHere, Role::kStorage, {}, {}}, shard}, 5000, 7ms);
    ASSERT_TRUE(told);
    const auto& progress = std::get<StateProgress>(told->body);
    const bool has_come = 2 * progress.bytes >= progress.bytes_total;
    EXPECT_EQ(has_come, offset == 0) << "a whole one is there when it has come";
    EXPECT_GE(progress.bytes, offset);
  }
}

TEST(StateOnItsWay, ASumIsToldLikeAnImage) {
  const StepSum sum{kJoiner, kDonor, {}, StepId{5}, 1, bytes(8)};
  EXPECT_TRUE(progress_of({kThere, to_stage(kHere, kJoiner), sum}, 4, 7ms));
}

TEST(StateOnItsWay, AMicrobatchIsToldToWhoeverWaitsForItsAnswer) {
  Forward forward;
  forward.cause.microbatch = MicrobatchId{3};
  forward.cause.hop = 1;
  forward.sender = kDonor;
  forward.path = {kDonor, kSaver};
  const auto of_forward = progress_of({kThere, to_stage(kHere, kSaver), forward}, 4, 7ms);
  ASSERT_TRUE(of_forward);
  EXPECT_EQ(of_forward->to, to_stage(kThere, kDonor));
  EXPECT_EQ(std::get<AskAnswer>(of_forward->body),
            (AskAnswer{forward.cause, kSaver, Purpose::kTrain, AskState::kWorking}));
  Backward backward;
  backward.cause = forward.cause;
  backward.sender = kSaver;
  const auto of_backward = progress_of({kThere, to_stage(kHere, kDonor), backward}, 4, 7ms);
  ASSERT_TRUE(of_backward);
  EXPECT_EQ(of_backward->to, to_stage(kHere, kDonor));
  EXPECT_EQ(of_backward->body, of_forward->body);
  EXPECT_FALSE(progress_of({kThere, to_stage(kHere, kSaver), Forward{}}, 4, 7ms))
      << "of a hop that its path does not have";
}

TEST(StateOnItsWay, APieceOfAPartIsToldToTheReplicaThatItIsFor) {
  const OrderId order{RunId{1}, {}, Term{1}, StageId{1}, StepId{3}, Epoch{Incarnation{8}, 2}};
  const Letter part{kThere, to_stage(kHere, kJoiner), Part{order, kDonor, 4, 1, bytes(1000)}};
  const auto told = progress_of(part, 400, 7ms);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->to, part.to);
  EXPECT_EQ(std::get<Progress>(told->body), (Progress{order, kDonor, 0, 400}));
}

TEST(StateOnItsWay, ABrokenLinkNamesTheNewestShardOfEachReplica) {
  StateSent sent;
  EXPECT_TRUE(sent.lost().empty());
  SaveShard shard;
  for (const auto& [replica, step] : {std::pair{kSaver, 10}, {kSaver, 20}, {kDonor, 20}}) {
    shard.replica = replica;
    shard.step = static_cast<std::uint64_t>(step);
    sent.add({kHere, {kThere, Role::kStorage, {}, {}}, shard});
  }
  const auto letters = sent.lost();
  ASSERT_EQ(letters.size(), 2U);
  for (const Letter& letter : letters) {
    EXPECT_EQ(letter.to, to_supervisor());
    EXPECT_EQ(std::get<StateUnavailable>(letter.body).step, 20U);
  }
  EXPECT_NE(std::get<StateUnavailable>(letters[0].body).replica, std::get<StateUnavailable>(letters[1].body).replica);
}

// A question for a further piece proves that the first one is there, and storage asks again for those that are not.
TEST(StateOnItsWay, P26bABrokenLinkLosesNoShardOfWhichFurtherPiecesWereSent) {
  StateSent sent;
  const auto send = [&](std::uint64_t step, std::uint64_t offset) {
    SaveShard shard;
    shard.replica = kSaver;
    shard.step = step;
    shard.offset = offset;
    shard.image = bytes(100);
    shard.bytes_total = 1000;
    sent.add({kHere, {kThere, Role::kStorage, {}, {}}, shard});
  };
  send(10, 0);
  EXPECT_EQ(sent.lost().size(), 1U) << "the control: nobody else would ask for it";
  send(10, 100);
  send(10, 200);
  EXPECT_TRUE(sent.lost().empty());
  send(20, 0);
  send(10, 300);
  ASSERT_EQ(sent.lost().size(), 1U) << "the next one is as lost as before";
  EXPECT_EQ(std::get<StateUnavailable>(sent.lost()[0].body).step, 20U);
  send(20, 100);
  EXPECT_TRUE(sent.lost().empty());
}

TEST(StateOnItsWay, ABrokenLinkNamesTheNewestSumToWhoGaveIt) {
  StateSent sent;
  for (const std::uint64_t step : {5, 6}) {
    sent.add({kHere, to_stage(kThere, kJoiner), StepSum{kJoiner, kDonor, {}, StepId{step}, 1, bytes(8)}});
  }
  sent.add({kHere, to_stage(kThere, kJoiner), Forward{}});
  const auto letters = sent.lost();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].to, to_stage({}, kDonor));
  const auto& told = std::get<StateUnavailable>(letters[0].body);
  EXPECT_EQ(told.replica, kJoiner);
  EXPECT_EQ(told.step, 6U);
}

}  // namespace
}  // namespace shoal::state_on_its_way_test
