// Checkpoints that were damaged, and disks that refuse: told with the reason, and nothing older is lost.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <random>

#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_writer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::checkpoint_damage_test {
namespace {

namespace fs = std::filesystem;

class SavedSteps {
 public:
  SavedSteps() {
    CheckpointWriter writer(settings_in(scratch.path()));
    for (const std::uint64_t step : {10U, 20U}) EXPECT_TRUE(save(writer, step).ok());
  }
  [[nodiscard]] std::string file(const std::string& name, std::uint64_t step = 20) const {
    return (checkpoint_folder(scratch.path(), step) / name).string();
  }
  [[nodiscard]] Result<Checkpoint> open() const { return Checkpoint::open(checkpoint_folder(scratch.path(), 20)); }

  Scratch scratch;
};

void flip(const std::string& path, std::size_t place, unsigned char bits = 1) {
  std::string text = read_file(path).value();
  ASSERT_LT(place, text.size());
  text[place] = static_cast<char>(static_cast<unsigned char>(text[place]) ^ bits);
  std::ofstream(path, std::ios::binary) << text;
}

void expect_refused(const SavedSteps& saved, const std::string& reason) {
  const auto opened = saved.open();
  ASSERT_FALSE(opened.ok()) << reason;
  EXPECT_EQ(opened.failure().error, Error::kInvalidData);
  EXPECT_NE(opened.failure().message.find(reason), std::string::npos) << opened.failure().message;
  const auto found = find_checkpoint(saved.scratch.path(), {});
  ASSERT_TRUE(found.ok() && found->checkpoint) << "the one before is used";
  EXPECT_EQ(found->checkpoint->manifest().step, 10U);
  ASSERT_EQ(found->skipped.size(), 1U);
  EXPECT_EQ(found->skipped[0], opened.failure().message);
}

TEST(DamagedCheckpoint, IsFoundOutForAByteAnywhere) {
  const SavedSteps whole;
  EXPECT_TRUE(whole.open().ok());
  const std::size_t shard_bytes = read_file(whole.file("stage_0.safetensors")).value().size();
  for (const std::size_t place : {std::size_t{0}, std::size_t{8}, std::size_t{40}, shard_bytes / 2, shard_bytes - 1}) {
    const SavedSteps saved;
    flip(saved.file("stage_0.safetensors"), place);
    expect_refused(saved, "stage_0.safetensors was changed");
  }
}

TEST(DamagedCheckpoint, IsFoundOutAlsoAfterItWasOpened) {
  const SavedSteps saved;
  const auto opened = saved.open();
  ASSERT_TRUE(opened.ok());
  const auto source = opened->source_of(small_model());
  ASSERT_TRUE(source.ok());
  const std::string path = saved.file("stage_1.safetensors");
  const std::size_t last = read_file(path).value().size() - 1;
  flip(path, last);
  const auto expect_told = [&path](const Result<TensorBlob>& read) {
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.failure().error, Error::kInvalidData);
    EXPECT_NE(read.failure().message.find(path), std::string::npos) << read.failure().message;
  };
  expect_told((*source)->read(0, (*source)->byte_count()));
  expect_told(opened->image_of(small_model()));
  expect_told(opened->weights_image());
  flip(path, last);
  EXPECT_EQ(opened->image_of(small_model()).value(), state_image(small_model(), 20));
  fs::resize_file(path, last);
  expect_told(opened->image_of(small_model()));
}

TEST(DamagedCheckpoint, IsFoundOutForEveryByteOfItsManifest) {
  const SavedSteps saved;
  const std::string path = saved.file("manifest.json");
  const std::string good = read_file(path).value();
  EXPECT_TRUE(parse_checkpoint_manifest(good, path).ok());
  for (std::size_t place = 0; place < good.size(); ++place) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 1);
    EXPECT_FALSE(parse_checkpoint_manifest(bad, path).ok()) << "byte " << place;
  }
  flip(path, good.find("\"tokens_total\": ") + 16);
  expect_refused(saved, "manifest.json was changed");
}

TEST(DamagedCheckpoint, IsRefusedWhenAFileIsCutMissingOrLonger) {
  const SavedSteps cut;
  fs::resize_file(cut.file("stage_1.safetensors"), 100);
  expect_refused(cut, "has 100 bytes");
  const SavedSteps missing;
  fs::remove(missing.file("stage_1.safetensors"));
  expect_refused(missing, "stage_1.safetensors is missing");
  const SavedSteps longer;
  fs::resize_file(longer.file("stage_0.safetensors"), 5000);
  expect_refused(longer, "has 5000 bytes");
  const SavedSteps empty;
  fs::resize_file(empty.file("manifest.json"), 0);
  expect_refused(empty, "not a checkpoint's manifest");
}

TEST(DamagedCheckpoint, ThatLostItsManifestIsPassedOverByName) {
  const SavedSteps saved;
  EXPECT_TRUE(find_checkpoint(saved.scratch.path(), {})->skipped.empty()) << "the control";
  fs::remove(saved.file("manifest.json"));
  expect_refused(saved, "step_20 is no checkpoint: it has no manifest.json");
  EXPECT_TRUE(find_checkpoint(saved.scratch.path(), {}, std::nullopt, 10)->skipped.empty()) << "it is not asked for";
  CheckpointWriter writer(settings_in(saved.scratch.path()));
  ASSERT_TRUE(save(writer, 30).ok());
  EXPECT_TRUE(find_checkpoint(saved.scratch.path(), {})->skipped.empty()) << "a newer one is there";
}

TEST(DamagedCheckpoint, OfAnotherRunOrUnderAnotherStepIsRefused) {
  const SavedSteps saved;
  const auto other = Checkpoint::open(checkpoint_folder(saved.scratch.path(), 20), "00000000000000cd");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.failure().message.find("belongs to run 00000000000000ab"), std::string::npos);
  fs::rename(checkpoint_folder(saved.scratch.path(), 20), checkpoint_folder(saved.scratch.path(), 30));
  const auto renamed = Checkpoint::open(checkpoint_folder(saved.scratch.path(), 30));
  ASSERT_FALSE(renamed.ok());
  EXPECT_NE(renamed.failure().message.find("holds the checkpoint of step 20"), std::string::npos);
}

// The system refuses, as a disk does that is away for a moment: what is written there may be good.
TEST(UnreadableCheckpoint, IsToldApartFromADamagedOne) {
  for (const char* name : {"manifest.json", "stage_1.safetensors"}) {
    const SavedSteps saved;
    fs::remove(saved.file(name));
    fs::create_directory(saved.file(name));
    EXPECT_EQ(saved.open().failure().error, Error::kIo);
    const auto found = find_checkpoint(saved.scratch.path(), {});
    ASSERT_TRUE(found.ok() && found->checkpoint);
    EXPECT_EQ(found->checkpoint->manifest().step, 10U);
    ASSERT_TRUE(found->unreadable) << name;
    EXPECT_NE(found->unreadable->find(name), std::string::npos) << *found->unreadable;
    EXPECT_FALSE(find_checkpoint(saved.scratch.path(), {}, std::nullopt, 10)->unreadable) << "it is not asked for";
    fs::remove_all(checkpoint_folder(saved.scratch.path(), 10));
    EXPECT_EQ(find_checkpoint(saved.scratch.path(), {}).failure().error, Error::kIo);
  }
  const SavedSteps damaged;
  flip(damaged.file("stage_0.safetensors"), 60);
  EXPECT_FALSE(find_checkpoint(damaged.scratch.path(), {})->unreadable);
}

TEST(UnreadableCheckpoint, IsNotTakenForNoneWhereTheFolderCannotBeRead) {
  const Scratch scratch;
  const auto loop = scratch.path() / "loop";
  fs::create_symlink(loop, loop);
  EXPECT_EQ(find_checkpoint(loop, {}).failure().error, Error::kIo);
  EXPECT_FALSE(find_checkpoint(scratch.path() / "none", {})->checkpoint);
}

TEST(DamagedCheckpoint, NamedByItsStepDoesNotFallBack) {
  const SavedSteps saved;
  flip(saved.file("stage_0.safetensors"), 60);
  EXPECT_EQ(find_checkpoint(saved.scratch.path(), {}, 20).failure().error, Error::kInvalidData);
  EXPECT_TRUE(find_checkpoint(saved.scratch.path(), {}, 10).ok());
  const auto missing = find_checkpoint(saved.scratch.path(), {}, 15);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.failure().message.find("there are: 20, 10"), std::string::npos) << missing.failure().message;
}

TEST(DamagedCheckpoint, WithoutAGoodOneBesideItIsAnError) {
  const SavedSteps saved;
  flip(saved.file("stage_0.safetensors", 20), 60);
  flip(saved.file("stage_0.safetensors", 10), 60);
  const auto found = find_checkpoint(saved.scratch.path(), {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(exit_code(found.failure().error), 3);
}

TEST(DamagedCheckpoint, IsRefusedForRandomDamage) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  const SavedSteps saved;
  for (int round = 0; round < 50; ++round) {
    const std::string path = saved.file(round % 2 == 0 ? "stage_0.safetensors" : "stage_1.safetensors");
    const std::size_t place = random() % read_file(path).value().size();
    const auto bits = static_cast<unsigned char>(1U << random() % 8);
    flip(path, place, bits);
    EXPECT_FALSE(saved.open().ok()) << path << " byte " << place;
    flip(path, place, bits);
  }
  EXPECT_TRUE(saved.open().ok());
}

TEST(FullDisk, LeavesTheCheckpointsBeforeAndNothingOfItsOwn) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(save(writer, 10).ok());
  // A file-size limit is what a full disk is to a writer: a part of the file is written, then the rest is refused.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{200, before.rlim_max};
  const auto on_excess = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto refused = writer.add(shard_of(20, 0, 2));
  ::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, on_excess);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kIo);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << "the space it took is free again";
  EXPECT_EQ(find_checkpoint(scratch.path(), {})->checkpoint->manifest().step, 10U);
  ASSERT_TRUE(save(writer, 30).ok()) << "the next one is written when there is room";
  EXPECT_EQ(list_checkpoints(scratch.path()).front(), 30U);
}

TEST(FullDisk, OfAFileSystemThatIsTooSmall) {
  const Scratch scratch;
  if (::mount("shoal", scratch.path().c_str(), "tmpfs", 0, "size=288k") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
  CheckpointWriter writer(settings_in(scratch.path() / "checkpoints"));
  std::uint64_t step = 1;
  while (save(writer, step).ok() && step < 100) ++step;
  EXPECT_GT(step, 1U);
  EXPECT_LT(step, 100U);
  {
    const auto found = find_checkpoint(scratch.path() / "checkpoints", {});  // which keeps its files open
    EXPECT_TRUE(found.ok() && found->checkpoint && found->checkpoint->manifest().step == step - 1);
  }
  ::umount(scratch.path().c_str());
}

// The journal needs some of its own disk, and none of another one.
TEST(FullDisk, IsLeftToTheJournalWhereThatLies) {
  const Scratch scratch;
  const auto small = scratch.path() / "small";
  std::filesystem::create_directory(small);
  if (::mount("shoal", small.c_str(), "tmpfs", 0, "size=288k") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
  const auto saved_beside = [&](const std::filesystem::path& journal) {
    const auto folder = small / journal.filename();
    CheckpointWriterSettings settings = settings_in(folder);
    settings.journal_folder = journal;
    CheckpointWriter writer(settings);
    std::uint64_t step = 1;
    Result<CheckpointManifest> last = save(writer, step);
    while (last.ok() && step < 200) last = save(writer, ++step);
    EXPECT_FALSE(last.ok());
    const bool names_journal = !last && last.failure().message.find("the journal needs") != std::string::npos;
    std::filesystem::remove_all(folder);
    return std::pair(step, names_journal);
  };
  const auto beside = saved_beside(small);
  const auto elsewhere = saved_beside(scratch.path());
  ::umount(small.c_str());
  EXPECT_TRUE(beside.second);
  EXPECT_FALSE(elsewhere.second);
  EXPECT_LT(beside.first, elsewhere.first);
}

TEST(FullDisk, ThatCannotEvenTakeAFolderSaysWhich) {
  const Scratch scratch;
  const auto file = scratch.file("checkpoints", "not a folder");
  CheckpointWriter writer(settings_in(file));
  const auto refused = writer.add(shard_of(1, 0, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kIo);
  EXPECT_NE(refused.failure().message.find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace shoal::checkpoint_damage_test
