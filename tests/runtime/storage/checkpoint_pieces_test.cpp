// Checkpoints whose shards come in pieces: the same bytes on the disk, and nothing of what was not finished.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <map>

#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_writer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::checkpoint_pieces_test {
namespace {

namespace fs = std::filesystem;

using Added = Result<std::optional<CheckpointManifest>>;

std::ptrdiff_t entries_in(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); }

std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path().string()).value();
  }
  return files;
}

// A shard in pieces, the first of which begins it: what is said of the last.
Added add_all(CheckpointWriter& writer, const std::vector<SaveShard>& pieces) {
  Added last = fail(Error::kInternal, "there are no pieces");
  for (const SaveShard& piece : pieces) last = writer.add(piece);
  return last;
}

void expect_refused(const Added& added, const std::string& why) {
  ASSERT_FALSE(added.ok()) << why;
  EXPECT_EQ(added.failure().error, Error::kInvalidData) << why;
}

class Pieces : public testing::Test {
 protected:
  // Two stages, so that stage 0 is not all of a checkpoint.
  static std::vector<SaveShard> some(std::uint32_t stage, std::uint64_t step = 20) {
    return pieces_of(shard_of(step, stage, 2), 150);
  }
  [[nodiscard]] fs::path folder(std::uint64_t step = 20) const { return checkpoint_folder(scratch_.path(), step); }
  void expect_good(const std::string& why = {}) const {
    EXPECT_EQ(entries_in(folder()), 3) << why;
    const auto opened = Checkpoint::open(folder());
    ASSERT_TRUE(opened.ok()) << why << opened.failure().message;
    EXPECT_EQ(opened->image_of(small_model()).value(), state_image(small_model(), 20)) << why;
  }

  Scratch scratch_;
  CheckpointWriter writer_{settings_in(scratch_.path())};
};

TEST_F(Pieces, MakeTheSameCheckpointAsWholeShards) {
  ASSERT_TRUE(save(writer_, 20).ok());
  const auto whole = files_in(folder());
  ASSERT_EQ(whole.size(), 3U);
  for (const std::size_t size : {13U, 100U, 512U, 100000U}) {
    const Scratch other;
    CheckpointWriter writer(settings_in(other.path()));
    const auto first = pieces_of(shard_of(20, 0, 2), size);
    const auto second = pieces_of(shard_of(20, 1, 2), size);
    Added last = fail(Error::kInternal, "nothing was added");
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
      for (const auto* pieces : {&first, &second}) {
        if (i < pieces->size()) last = writer.add((*pieces)[i]);
        ASSERT_TRUE(last.ok()) << last.failure().message;
      }
    }
    ASSERT_TRUE(last->has_value()) << size;
    EXPECT_TRUE(files_in(checkpoint_folder(other.path(), 20)) == whole) << size;
    EXPECT_EQ(entries_in(other.path()), 1);
  }
}

TEST_F(Pieces, TellOfTheBytesOfTheWholeImage) {
  const auto pieces = some(0);
  ASSERT_GT(pieces.size(), 2U);
  std::vector<std::uint64_t> told;
  for (const SaveShard& piece : pieces) {
    ASSERT_TRUE(writer_.add(piece, [&told](std::uint64_t bytes) { told.push_back(bytes); }).ok());
  }
  ASSERT_EQ(told.size(), pieces.size());
  EXPECT_EQ(told[0], 150U);
  EXPECT_EQ(told[1], 300U);
  EXPECT_EQ(told.back(), pieces[0].bytes_total);
}

TEST_F(Pieces, OutOfOrderAreRefusedAndTheirShardGoesOn) {
  const auto pieces = some(0);
  expect_refused(writer_.add(pieces[1]), "nothing was begun");
  EXPECT_EQ(entries_in(scratch_.path()), 0) << "and nothing is begun by it";
  ASSERT_TRUE(writer_.add(pieces[0]).ok());
  expect_refused(writer_.add(pieces[2]), "a gap");
  ASSERT_TRUE(writer_.add(pieces[1]).ok());
  expect_refused(writer_.add(pieces[1]), "once more");
  SaveShard other = pieces[2];
  other.bytes_total += 1;
  expect_refused(writer_.add(other), "of an image of another size");
  other = pieces[2];
  other.bytes_total = 0;
  expect_refused(writer_.add(other), "a piece, or all of it");
  other = pieces[2];
  other.tokens_total += 1;
  expect_refused(writer_.add(other), "of another state");
  other = pieces[2];
  other.image = state_image(small_model(), 20);
  expect_refused(writer_.add(other), "beyond the end");
  expect_refused(writer_.add(some(1)[1]), "of another stage");
  for (std::size_t i = 2; i < pieces.size(); ++i) ASSERT_TRUE(writer_.add(pieces[i]).ok()) << i;
  expect_refused(writer_.add(pieces.back()), "it is whole");
  ASSERT_TRUE(add_all(writer_, some(1)).value().has_value());
  expect_good();
}

TEST_F(Pieces, BeginAShardAnewWithTheFirst) {
  const auto pieces = some(0);
  for (const std::size_t i : {0U, 1U, 0U, 1U, 2U, 0U}) ASSERT_TRUE(writer_.add(pieces[i]).ok()) << i;
  ASSERT_TRUE(add_all(writer_, some(1)).ok());
  EXPECT_FALSE(fs::exists(folder())) << "stage 0 is not whole";
  ASSERT_TRUE(writer_.add(shard_of(20, 0, 2)).value().has_value()) << "whole in place of its pieces";
  expect_good();
}

TEST_F(Pieces, OfAShardThatIsThereDoNotTakeItAway) {
  const auto pieces = some(0);
  ASSERT_TRUE(add_all(writer_, pieces).ok());
  ASSERT_TRUE(writer_.add(pieces[0]).ok());
  ASSERT_TRUE(writer_.add(pieces[1]).ok());
  ASSERT_TRUE(add_all(writer_, some(1)).value().has_value());
  expect_good("nothing of the second try is in it");
  expect_refused(writer_.add(pieces[2]), "its checkpoint is finished");
  EXPECT_EQ(entries_in(scratch_.path()), 1);
}

TEST_F(Pieces, OfWhatIsNoImageAreRefusedAsSoonAsItIsSeen) {
  ASSERT_TRUE(add_all(writer_, some(0)).ok());
  auto pieces = some(1);
  auto header = std::make_shared<AlignedBuffer>(pieces[1].image.byte_count());
  std::memset(header->data(), '!', header->size());
  const auto good = std::exchange(pieces[1].image.bytes, header);
  std::size_t taken = 0;
  Added last = writer_.add(pieces[0]);
  while (last.ok() && ++taken < pieces.size()) last = writer_.add(pieces[taken]);
  expect_refused(last, "its header is spoilt");
  EXPECT_GE(taken, 1U);
  EXPECT_LT(taken, pieces.size() - 1) << "before all of it was written";
  pieces[1].image.bytes = good;
  expect_refused(writer_.add(pieces[taken]), "it is given up");
  ASSERT_TRUE(add_all(writer_, pieces).value().has_value()) << "the others are not";
  expect_good();
}

TEST_F(Pieces, OfAShardThatFindsNoSpaceEndItsCheckpointWithTheFirst) {
  ASSERT_TRUE(save(writer_, 10).ok());
  ASSERT_TRUE(add_all(writer_, some(0)).ok());
  SaveShard huge = pieces_of(shard_of(20, 1, 2), 9)[0];  // its header is not there yet
  huge.bytes_total = std::uint64_t{1} << 60;
  const auto refused = writer_.add(huge);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kIo);
  EXPECT_NE(refused.failure().message.find("no space for its"), std::string::npos) << refused.failure().message;
  EXPECT_EQ(list_checkpoints(scratch_.path()), std::vector<std::uint64_t>{10});
  EXPECT_EQ(entries_in(scratch_.path()), 1);
}

TEST_F(Pieces, ThatTheDiskRefusesEndTheirCheckpoint) {
  const auto pieces = some(0);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{200, before.rlim_max};
  const auto on_excess = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto first = writer_.add(pieces[0]);
  const auto second = writer_.add(pieces[1]);
  ::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, on_excess);
  EXPECT_TRUE(first.ok());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().error, Error::kIo);
  EXPECT_EQ(entries_in(scratch_.path()), 0) << "the space it took is free again";
  expect_refused(writer_.add(pieces[2]), "it is given up");
  ASSERT_TRUE(save(writer_, 20).ok());
  expect_good();
}

TEST_F(Pieces, OfAnOlderCheckpointAreGivenUpWithIt) {
  for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(writer_.add(some(0)[i]).ok());
  ASSERT_TRUE(save(writer_, 30).ok());
  EXPECT_EQ(entries_in(scratch_.path()), 1);
  expect_refused(writer_.add(some(0)[2]), "it is given up");
}

TEST_F(Pieces, OfAWriterThatWasKilledAreCleared) {
  {
    CheckpointWriter killed(settings_in(scratch_.path()));
    ASSERT_TRUE(killed.add(some(0)[0]).ok());
    const auto partial = scratch_.path() / ".step_20.branch_0.partial";
    ASSERT_EQ(entries_in(partial), 1) << "the control";
    fs::copy_file(fs::directory_iterator(partial)->path(), partial / "as if it had been killed");
  }
  ASSERT_TRUE(add_all(writer_, some(0)).ok());
  ASSERT_TRUE(add_all(writer_, some(1)).value().has_value());
  expect_good();
}

}  // namespace
}  // namespace shoal::checkpoint_pieces_test
