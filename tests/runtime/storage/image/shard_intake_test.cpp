// Shards that come in pieces: which are taken, what is asked for, and what becomes of one that stops coming.
#include "runtime/storage/image/shard_intake.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/bounds/knobs.h"

namespace shoal::shard_intake_test {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kSaver{7}, kOther{8};

Instant start() { return Instant{} + 1h; }

SaveShard piece(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total, std::uint32_t stage = 0) {
  SaveShard shard;
  shard.branch = Branch{2};
  shard.step = 30;
  shard.stage = StageId{stage};
  shard.replica = kSaver;
  shard.image = {DType::kUint8, {static_cast<std::int64_t>(bytes)}, std::make_shared<AlignedBuffer>(bytes)};
  shard.offset = offset;
  shard.bytes_total = total;
  return shard;
}

FetchShard question(std::uint64_t offset, std::uint64_t held) {
  return {Branch{2}, 30, StageId{0}, kSaver, offset, held};
}

bool take(ShardIntake& intake, const SaveShard& shard, Instant now = start()) {
  if (!intake.accepts(shard, now)) return false;
  intake.written(shard, now);
  return true;
}

TEST(ShardIntake, TakesAWholeShardAsItComesAndRemembersNothing) {
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 100, 100)));
  EXPECT_TRUE(take(intake, piece(0, 100, 0))) << "of a sender that says no size";
  EXPECT_TRUE(intake.is_empty());
  EXPECT_TRUE(intake.due(start()).empty());
}

TEST(ShardIntake, AsksForPiecesInOrderAndTellsTheGiverOfTheEnd) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 10, 35)));
  EXPECT_EQ(intake.due(start()), (std::vector{question(10, 10), question(20, 10)}));
  EXPECT_FALSE(take(intake, piece(20, 10, 35))) << "the one before is missing";
  EXPECT_EQ(intake.due(start()), (std::vector{question(10, 10), question(20, 10)})) << "and asked for again";
  EXPECT_TRUE(take(intake, piece(10, 10, 35)));
  EXPECT_FALSE(take(intake, piece(10, 10, 35))) << "a second time";
  EXPECT_EQ(intake.due(start()), std::vector{question(30, 20)});
  EXPECT_TRUE(take(intake, piece(20, 10, 35)));
  EXPECT_TRUE(take(intake, piece(30, 5, 35)));
  EXPECT_EQ(intake.due(start()), std::vector{question(35, 35)});
  EXPECT_TRUE(intake.is_empty());
  EXPECT_FALSE(take(intake, piece(10, 10, 35))) << "of a shard that nobody began";
}

// Whoever was believed to be lost wakes up, and what it had sent arrives.
TEST(ShardIntake, ABeginningOfAnotherReplicaWaitsUntilNothingMoreComes) {
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 10, 35)));
  SaveShard other = piece(0, 10, 35);
  other.replica = kOther;
  EXPECT_FALSE(take(intake, other, start() + ShardIntake::kStill - 1ms)) << "the one before is alive";
  (void)intake.due(start());
  EXPECT_TRUE(take(intake, piece(10, 10, 35), start() + 4s)) << "and goes on";
  const FetchShard anew{Branch{2}, 30, StageId{0}, kOther, 0, 0};
  const Instant later = start() + 4s + ShardIntake::kStill;
  EXPECT_EQ(std::ranges::count(intake.due(later - 1ms), anew), 0);
  EXPECT_EQ(std::ranges::count(intake.due(later), anew), 1) << "nothing more of it came";
  EXPECT_EQ(std::ranges::count(intake.due(later), anew), 0) << "once";
  EXPECT_TRUE(take(intake, other, later));
  EXPECT_FALSE(take(intake, piece(20, 10, 35), later)) << "of the replica before";
  ASSERT_FALSE(intake.due(later).empty());
  other.offset = 10;
  EXPECT_TRUE(take(intake, other, later));
}

TEST(ShardIntake, AWholeShardOfAnotherReplicaTakesThePlaceOfWhatIsComing) {
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 10, 35)));
  SaveShard other = piece(0, 35, 35);
  other.replica = kOther;
  EXPECT_TRUE(take(intake, other));
  EXPECT_TRUE(intake.is_empty());
}

TEST(ShardIntake, GoesOnWithWhatItHasWhereTheSameReplicaBeginsAgain) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 10, 55)));
  (void)intake.due(start());
  EXPECT_TRUE(take(intake, piece(10, 10, 55)));
  EXPECT_FALSE(intake.due(start()).empty());
  EXPECT_FALSE(take(intake, piece(0, 10, 55))) << "it was asked to save the state again";
  EXPECT_TRUE(intake.due(start()).empty()) << "what was asked for is on its way";
  const Instant later = start() + ShardIntake::kStill;
  EXPECT_FALSE(take(intake, piece(0, 10, 55), later));
  EXPECT_EQ(intake.due(later), (std::vector{question(20, 20), question(30, 20)})) << "which the new image has, too";
  EXPECT_FALSE(take(intake, piece(0, 10, 55), later + 1s));
  EXPECT_TRUE(intake.due(later + 1s).empty()) << "once";
  EXPECT_TRUE(take(intake, piece(20, 10, 55)));
}

TEST(ShardIntake, AnEmptyPieceIsNoBeginning) {
  ShardIntake intake;
  EXPECT_FALSE(take(intake, piece(0, 0, 55)));
  EXPECT_TRUE(take(intake, piece(0, 10, 55)));
  EXPECT_FALSE(take(intake, piece(0, 0, 55)));
  EXPECT_FALSE(intake.is_empty()) << "and puts no other out";
  EXPECT_FALSE(take(intake, piece(10, 10, 56))) << "of another image";
}

TEST(ShardIntake, OneThatWaitsBehindAnotherOfItsReplicaIsNotLost) {
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 10, 35)));
  const StateProgress of_the_next{Branch{2}, 40, StageId{0}, kSaver, {}, true, 3, 70};
  intake.arriving(of_the_next, start() + 1min);
  EXPECT_TRUE(intake.lost(start() + ShardIntake::kGivenUp).empty());
  EXPECT_EQ(intake.lost(start() + 1min + ShardIntake::kGivenUp).size(), 1U);
}

TEST(ShardIntake, OneOfWhichNothingComesIsLostAndNamed) {
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 10, 35)));
  EXPECT_TRUE(intake.lost(start() + ShardIntake::kGivenUp - 1ms).empty());
  StateProgress slow{Branch{2}, 30, StageId{0}, kSaver, {}, true, 12, 70};
  intake.arriving(slow, start() + 1min);
  EXPECT_TRUE(intake.lost(start() + ShardIntake::kGivenUp).empty()) << "it is slow";
  slow.replica = kOther;
  intake.arriving(slow, start() + 2min);  // of a shard that nobody waits for
  const auto lost = intake.lost(start() + 1min + ShardIntake::kGivenUp);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].replica, kSaver);
  EXPECT_EQ(lost[0].donor, Incarnation{}) << "storage says it";
  EXPECT_EQ(lost[0].step, 30U);
  EXPECT_TRUE(intake.is_empty());
}

TEST(ShardIntake, NothingMoreIsAskedForOfOneThatCannotBeWritten) {
  ShardIntake intake;
  const SaveShard first = piece(0, 10, 35);
  EXPECT_TRUE(intake.accepts(first, start()));
  intake.failed(first);
  EXPECT_TRUE(intake.due(start()).empty());
}

// Nobody knows how much of it is on the disk.
TEST(ShardIntake, OneThatWasBeingWrittenWhenStorageEndedIsLostAtOnce) {
  for (const bool is_whole : {true, false}) {
    ShardIntake intake;
    EXPECT_TRUE(take(intake, piece(0, 10, 35)));
    EXPECT_FALSE(intake.cut_short()) << "the control: between two pieces";
    EXPECT_TRUE(intake.accepts(is_whole ? piece(0, 35, 35) : piece(10, 10, 35), start()));
    const auto lost = intake.cut_short();
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->replica, kSaver);
    EXPECT_EQ(lost->step, 30U);
    EXPECT_EQ(lost->donor, Incarnation{}) << "storage says it";
    EXPECT_TRUE(intake.is_empty());
    EXPECT_FALSE(intake.cut_short()) << "once";
  }
}

TEST(ShardIntake, ACheckpointThatIsOverAsksForNothing) {
  ShardIntake intake;
  EXPECT_TRUE(take(intake, piece(0, 10, 35, 0)));
  EXPECT_TRUE(take(intake, piece(0, 10, 35, 1)));
  intake.end(Branch{2}, 29);
  intake.end(Branch{1}, 30);
  EXPECT_FALSE(intake.is_empty()) << "others";
  intake.end(Branch{2}, 30);
  EXPECT_TRUE(intake.is_empty());
  EXPECT_TRUE(take(intake, piece(0, 10, 35)));
  intake.end_up_to(Branch{2}, 29);
  EXPECT_FALSE(intake.is_empty());
  intake.end_up_to(Branch{2}, 31);
  EXPECT_TRUE(intake.is_empty()) << "one that a later checkpoint put out";
}

TEST(ShardIntake, S6RemembersSoMany) {
  ShardIntake intake;
  for (std::uint32_t stage = 0; stage <= ShardIntake::kShardsMax; ++stage) {
    EXPECT_TRUE(take(intake, piece(0, 10, 15, stage)));
  }
  EXPECT_FALSE(take(intake, piece(10, 5, 15, 0))) << "the oldest gave way";
  EXPECT_TRUE(take(intake, piece(10, 5, 15, 1))) << "the control";
}

}  // namespace
}  // namespace shoal::shard_intake_test
