// The storage actor as a shell: what reaches the disk is told to the supervisor, what is asked for goes to who asked.
#include "actors/storage.h"

#include <gtest/gtest.h>

#include "runtime/base/file.h"
#include "tests/actors/lone_actor.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"
#include "tests/support/bounds/knobs.h"

namespace shoal::storage_test {
namespace {

class StorageTest : public testing::Test {
 protected:
  StorageTest()
      : settings_{std::make_shared<CheckpointWriter>(settings_in(scratch_.path())), lone_.router(), nullptr,
                  scratch_.path()} {
    begin_life();
  }
  void begin_life() {
    actor_ = lone_.spawn(storage, settings_);
    follow(2);
  }
  // The journal says that all is committed that a test saves, by so many stages.
  void follow(std::uint32_t stages, std::uint32_t branch = 0, std::uint64_t committed = 1000) {
    lone_.give(actor_, JournalSoFar{std::make_shared<const View>(view_of(stages, committed, branch))});
  }
  void save_step(std::uint64_t step, std::uint32_t branch = 0) {
    for (const std::uint32_t stage : {0U, 1U}) lone_.give(actor_, shard_of(step, stage, 2, branch));
  }
  void fetch(std::uint64_t step, std::uint64_t replica = 5) {
    lone_.give(actor_, FetchState{Incarnation{replica}, step, {"wte.weight"}});
  }

  Scratch scratch_;
  LoneActor lone_;
  StorageSettings settings_;
  StorageActor actor_;
};

TEST_F(StorageTest, TellsTheSupervisorOfAWholeCheckpointOnce) {
  lone_.give(actor_, shard_of(10, 0, 2));
  EXPECT_TRUE(lone_.sent<CheckpointSaved>().empty());
  lone_.give(actor_, shard_of(10, 1, 2));
  const auto saved = lone_.sent<CheckpointSaved>();
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(saved[0].step, 10U);
  EXPECT_EQ(saved[0].weights_sha256, find_checkpoint(scratch_.path(), {})->checkpoint->manifest().weights_sha256);
  EXPECT_GT(saved[0].byte_count, 0U);
}

TEST_F(StorageTest, TellsTheSupervisorWhyACheckpointFailed) {
  SaveShard bad = shard_of(10, 0, 2);
  bad.image = {};
  lone_.give(actor_, bad);
  const auto failed = lone_.sent<CheckpointFailed>();
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].step, 10U);
  EXPECT_NE(failed[0].reason, "");
}

TEST_F(StorageTest, SendsStateToTheReplicaThatAsked) {
  save_step(10);
  fetch(10);
  const auto images = lone_.sent<StateImage>();
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].replica, Incarnation{5});
  EXPECT_EQ(images[0].image, state_image({"wte.weight"}, 10));
  EXPECT_EQ(images[0].optimizer_step, 10U);
  EXPECT_EQ(images[0].tokens_total, 1000U) << "as counted, whatever was planned";
}

TEST_F(StorageTest, SaysWhyStateIsNotThere) {
  fetch(10);
  save_step(20);
  std::ofstream(checkpoint_folder(scratch_.path(), 20) / "stage_0.safetensors") << "x";
  fetch(20);
  const auto refused = lone_.sent<StateUnavailable>();
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_NE(refused[1].reason.find("stage_0.safetensors"), std::string::npos) << refused[1].reason;
  EXPECT_EQ(refused[1].replica, Incarnation{5});
}

TEST_F(StorageTest, ReadsAgainWhatWasSavedAgain) {
  save_step(10);
  fetch(10);
  SaveShard other = shard_of(10, 0, 1, 1);
  follow(1, 1);
  other.image = state_image(small_model(), 99);
  lone_.give(actor_, other);
  fetch(10, 6);
  const auto images = lone_.sent<StateImage>();
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[1].image, state_image({"wte.weight"}, 99));
}

TEST_F(StorageTest, AReplicaThatIsImpatientGetsOneImageUntilNothingMoreOfItArrives) {
  save_step(10);
  for (std::uint64_t second = 0; second < 60; ++second) {
    fetch(10);
    lone_.give(actor_, StateProgress{{}, 10, {}, Incarnation{5}, {}, false, second, 100});
    lone_.advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(lone_.sent<StateImage>().size(), 1U);
  lone_.advance(std::chrono::duration_cast<std::chrono::milliseconds>(GivenImages::kLost));
  fetch(10);
  EXPECT_EQ(lone_.sent<StateImage>().size(), 2U) << "the control: it is taken for lost";
}

TEST_F(StorageTest, TellsTheSupervisorOfAShardThatIsWritten) {
  const SaveShard shard = shard_of(10, 1, 2, 3);
  follow(2, 3);
  lone_.give(actor_, shard);
  const auto told = lone_.sent<StateProgress>();
  ASSERT_FALSE(told.empty());
  const std::uint64_t twice = 2 * shard.image.byte_count();
  EXPECT_EQ(told.back(), (StateProgress{shard.branch, 10, StageId{1}, shard.replica, {}, true, twice, twice}));
}

// Any node that was admitted may send shards. Of each of these a checkpoint could be made, newer than the real one.
TEST_F(StorageTest, P29aWhoIsNoMemberMakesNoCheckpoint) {
  save_step(10);
  SaveShard forged = shard_of(11, 0, 1, 4'000'000'000);
  forged.replica = Incarnation{77};
  for (; forged.step < 14; ++forged.step) lone_.give(actor_, forged);
  forged.branch = {};
  forged.image = {};
  lone_.give(actor_, forged);
  EXPECT_TRUE(lone_.sent<StateUnavailable>().empty()) << "the journal may be behind";
  for (int second = 0; second < 32; ++second) lone_.advance(std::chrono::seconds(1));
  ASSERT_EQ(lone_.sent<StateUnavailable>().size(), 4U);
  EXPECT_EQ(lone_.sent<StateUnavailable>()[0].replica, forged.replica);
  EXPECT_NE(lone_.sent<StateUnavailable>()[0].reason, "");
  EXPECT_TRUE(lone_.sent<CheckpointFailed>().empty()) << "a real one would be given up";
  EXPECT_EQ(list_checkpoints(scratch_.path()), std::vector<std::uint64_t>{10});
  save_step(20);
  EXPECT_EQ(lone_.sent<CheckpointSaved>().size(), 2U);
}

TEST_F(StorageTest, P29aAShardThatComesBeforeItsCommitIsSavedWhenThatIsRead) {
  follow(2, 0, 9);
  save_step(10);
  EXPECT_TRUE(lone_.sent<CheckpointSaved>().empty());
  lone_.end(actor_);
  actor_ = lone_.spawn(storage, settings_);
  follow(2, 0, 9);
  EXPECT_TRUE(lone_.sent<CheckpointSaved>().empty());
  Commit commit;
  commit.step = StepId{9};
  lone_.give(actor_, JournalEntry{JournalPosition{1001}, {}, Term{1}, commit});
  EXPECT_EQ(lone_.sent<CheckpointSaved>().size(), 1U) << "also by the next life";
  for (int second = 0; second < 32; ++second) lone_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(lone_.sent<StateUnavailable>().empty());
}

// To verify what is read takes a while: it is kept while one replica asks after the other, given back when none does.
TEST_F(StorageTest, S6KeepsWhatItReadOnlyWhileItIsAskedFor) {
  save_step(10);
  fetch(10);
  std::filesystem::remove_all(checkpoint_folder(scratch_.path(), 10));
  fetch(10, 6);
  EXPECT_EQ(lone_.sent<StateImage>().size(), 2U) << "read once for both";
  lone_.advance(std::chrono::seconds(121));
  fetch(10, 7);
  EXPECT_EQ(lone_.sent<StateImage>().size(), 2U);
  EXPECT_EQ(lone_.sent<StateUnavailable>().size(), 1U) << "not kept any more";
}

TEST_F(StorageTest, S6GivesBackWhatItReadThoughPiecesOfLogsComeAllTheTime) {
  save_step(10);
  fetch(10);
  std::filesystem::remove_all(checkpoint_folder(scratch_.path(), 10));
  for (int second = 0; second < 121; ++second) {
    lone_.advance(std::chrono::seconds(1));
    lone_.give(actor_, FileChunk{});
  }
  fetch(10, 6);
  EXPECT_EQ(lone_.sent<StateUnavailable>().size(), 1U);
}

// The bytes of a state, as pieces of this size.
std::vector<TensorBlob> cut(const TensorBlob& image, std::size_t size) {
  WholeImage source(image);
  std::vector<TensorBlob> pieces;
  for (std::uint64_t at = 0; at < image.byte_count(); at += size) pieces.push_back(source.read(at, size).value());
  return pieces;
}

// Its own shard is not lost by that.
TEST_F(StorageTest, S7AnotherProcessSavesNothingForAMemberThatWasRemoved) {
  save_step(10);
  lone_.give(actor_, JournalEntry{JournalPosition{1001}, {}, Term{1}, RemoveReplica{StageId{0}, saver_of(0), "left"}});
  SaveShard forged = shard_of(11, 0, 2);
  forged.image = state_image({"wte.weight"}, 99);
  forged.process = ProcessIncarnation{66};
  lone_.give(actor_, forged);
  lone_.give(actor_, shard_of(11, 1, 2));
  EXPECT_EQ(lone_.sent<CheckpointSaved>().size(), 1U);
  EXPECT_TRUE(lone_.sent<StateUnavailable>().empty());
  lone_.give(actor_, shard_of(11, 0, 2));
  EXPECT_EQ(lone_.sent<CheckpointSaved>().size(), 2U);
}

TEST_F(StorageTest, P26bWritesAShardThatComesInPieces) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 1);
  follow(1);
  const SaveShard whole = shard_of(10, 0, 1);
  const std::uint64_t total = whole.image.byte_count();
  SaveShard piece = whole;
  piece.bytes_total = total;
  const auto pieces = cut(whole.image, 100);
  ASSERT_GT(pieces.size(), 3U);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_TRUE(lone_.sent<CheckpointSaved>().empty());
    piece.image = pieces[i];
    piece.offset = 100 * i;
    lone_.give(actor_, piece);
    lone_.give(actor_, piece);  // a repeat
    EXPECT_EQ(lone_.sent<StateProgress>().empty(), i + 1 < pieces.size()) << "the router tells of what comes";
    const auto questions = lone_.sent<FetchShard>();
    ASSERT_FALSE(questions.empty());
    EXPECT_EQ(questions.back().replica, whole.replica);
    EXPECT_EQ(questions.back().held, piece.offset + piece.image.byte_count());
  }
  ASSERT_EQ(lone_.sent<CheckpointSaved>().size(), 1U);
  EXPECT_EQ(lone_.sent<FetchShard>().back().offset, total) << "the giver hears of the end";
  fetch(10);
  EXPECT_EQ(lone_.sent<StateImage>().at(0).image, state_image({"wte.weight"}, 10));
}

TEST_F(StorageTest, P26bAsksAgainAndThenSaysThatAShardIsLost) {
  follow(1);
  SaveShard piece = shard_of(10, 0, 1);
  piece.bytes_total = piece.image.byte_count();
  piece.image = cut(piece.image, 100)[0];
  lone_.give(actor_, piece);
  const std::size_t asked = lone_.sent<FetchShard>().size();
  EXPECT_GT(asked, 0U);
  lone_.advance(std::chrono::seconds(25));
  EXPECT_EQ(lone_.sent<FetchShard>().size(), asked);
  for (int second = 0; second < 10; ++second) lone_.advance(std::chrono::seconds(1));
  EXPECT_GT(lone_.sent<FetchShard>().size(), asked);
  EXPECT_TRUE(lone_.sent<StateUnavailable>().empty());
  for (int second = 35; second < 119; ++second) lone_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(lone_.sent<StateUnavailable>().empty());
  for (int second = 119; second < 123; ++second) lone_.advance(std::chrono::seconds(1));
  ASSERT_EQ(lone_.sent<StateUnavailable>().size(), 1U);
  EXPECT_EQ(lone_.sent<StateUnavailable>()[0].replica, piece.replica);
}

// A piece of a shard of one stage, as StorageTest saves it.
SaveShard first_piece(std::uint64_t step) {
  SaveShard piece = shard_of(step, 0, 1);
  piece.bytes_total = piece.image.byte_count();
  piece.image = cut(piece.image, 100)[0];
  return piece;
}

TEST_F(StorageTest, P26bTheGiverOfAShardHearsHowMuchOfAPieceHasCome) {
  follow(1);
  const SaveShard piece = first_piece(10);
  const StateProgress slow{piece.branch, 10, piece.stage, piece.replica, {}, true, 120, 2 * piece.bytes_total};
  lone_.give(actor_, slow);
  EXPECT_EQ(lone_.sent<StateProgress>(), std::vector{slow}) << "the first piece is on its way";
  lone_.give(actor_, piece);
  lone_.give(actor_, slow);
  EXPECT_EQ(lone_.sent<StateProgress>(), (std::vector{slow, slow}));
}

TEST_F(StorageTest, P26bAPieceThatEndedTheActorIsToldAsLostAtOnce) {
  follow(1);
  const SaveShard first = first_piece(10);
  lone_.give(actor_, first);
  SaveShard second = first;
  second.offset = 100;
  EXPECT_TRUE(settings_.intake->accepts(second, lone_.system().clock().now())) << "as the life that it ended did";
  lone_.end(actor_);
  EXPECT_TRUE(lone_.sent<StateUnavailable>().empty());
  begin_life();
  ASSERT_EQ(lone_.sent<StateUnavailable>().size(), 1U);
  EXPECT_EQ(lone_.sent<StateUnavailable>()[0].replica, first.replica);
  EXPECT_EQ(lone_.sent<StateUnavailable>()[0].step, 10U);
  lone_.end(actor_);
  begin_life();
  EXPECT_EQ(lone_.sent<StateUnavailable>().size(), 1U) << "once";
}

TEST_F(StorageTest, P26bAShardIsToldAsLostThoughTheMailboxIsNeverEmpty) {
  follow(1);
  lone_.give(actor_, first_piece(10));
  for (int second = 0; second < 123; ++second) lone_.give_at_once(actor_, std::chrono::seconds(1), FileChunk{});
  EXPECT_EQ(lone_.sent<StateUnavailable>().size(), 1U);
}

// On a slow way nobody asks for longer than a checkpoint that is not read stays open.
TEST_F(StorageTest, AStateStaysOpenWhileItArrivesHoweverSlow) {
  Knobs knobs;
  knobs.set("storage.image_piece_bytes", 100);
  save_step(10);
  fetch(10);
  std::filesystem::remove_all(checkpoint_folder(scratch_.path(), 10));
  const FetchState further{Incarnation{5}, 10, {"wte.weight"}, {}, {}, 100, 100};
  for (std::uint64_t second = 0; second < 300; ++second) {
    lone_.advance(std::chrono::seconds(1));
    lone_.give(actor_, StateProgress{{}, 10, {}, Incarnation{5}, {}, false, 100 + second % 90, 1000});
    lone_.give(actor_, FileChunk{});
  }
  lone_.give(actor_, further);
  EXPECT_EQ(lone_.sent<StateImage>().size(), 2U);
  for (int second = 0; second < 121; ++second) {
    lone_.advance(std::chrono::seconds(1));
    lone_.give(actor_, StateProgress{{}, 10, {}, Incarnation{6}, {}, false, 100, 1000});
    lone_.give(actor_, FileChunk{});
  }
  lone_.give(actor_, further);
  EXPECT_EQ(lone_.sent<StateUnavailable>().size(), 1U) << "the control: of a state that nobody gave";
}

// Files that are open keep their place on the disk.
TEST_F(StorageTest, S6GivesBackWhatItReadThoughShardsComeAllTheTime) {
  save_step(10);
  fetch(10);
  for (std::uint64_t second = 0; second < 121; ++second) {
    lone_.advance(std::chrono::seconds(1));
    lone_.give(actor_, shard_of(20 + second, 0, 2));
  }
  std::filesystem::remove_all(checkpoint_folder(scratch_.path(), 10));
  lone_.give(actor_, FetchState{Incarnation{5}, 10, {"wte.weight"}, {}, {}, 1, 0});
  EXPECT_EQ(lone_.sent<StateUnavailable>().size(), 1U);
}

TEST_F(StorageTest, P26bGivesAStateInPiecesThoughItsCheckpointIsGone) {
  Knobs knobs;
  knobs.set("storage.image_piece_bytes", 100);
  save_step(10);
  fetch(10);
  const auto first = lone_.sent<StateImage>();
  ASSERT_EQ(first.size(), 1U);
  const TensorBlob expected = state_image({"wte.weight"}, 10);
  ASSERT_GT(expected.byte_count(), 200U);
  EXPECT_EQ(first[0].bytes_total, expected.byte_count());
  std::filesystem::remove_all(checkpoint_folder(scratch_.path(), 10));
  for (std::uint64_t offset = 100; offset < expected.byte_count(); offset += 100) {
    lone_.give(actor_, FetchState{Incarnation{5}, 10, {"wte.weight"}, {}, {}, offset, offset});
  }
  std::vector<std::byte> bytes;
  for (const StateImage& piece : lone_.sent<StateImage>()) {
    EXPECT_EQ(piece.offset, bytes.size());
    EXPECT_EQ(piece.optimizer_step, 10U);
    bytes.insert(bytes.end(), piece.image.as<std::byte>(), piece.image.as<std::byte>() + piece.image.byte_count());
  }
  ASSERT_EQ(bytes.size(), expected.byte_count());
  EXPECT_EQ(std::memcmp(bytes.data(), expected.bytes->data(), bytes.size()), 0);
  lone_.give(actor_, FetchState{Incarnation{5}, 10, {"wte.weight"}, {}, {}, bytes.size() + 1, 0});
  EXPECT_EQ(lone_.sent<StateUnavailable>().size(), 1U) << "behind its end";
}

}  // namespace
}  // namespace shoal::storage_test
