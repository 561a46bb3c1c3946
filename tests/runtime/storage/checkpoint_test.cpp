// Checkpoints as they are saved and read: any cut, newest first, whole or not at all.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_writer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::checkpoint_test {
namespace {

using Steps = std::vector<std::uint64_t>;

TEST(Manifest, RoundTrips) {
  CheckpointManifest manifest{"00ab", 3, 400, 399, 123456789012, "c", "d", "e", {{"stage_0.safetensors", {"f", 77}}}};
  const auto parsed = parse_checkpoint_manifest(to_json(manifest), "m");
  ASSERT_TRUE(parsed.ok()) << parsed.failure().message;
  EXPECT_EQ(parsed.value(), manifest);
  manifest.step = 401;
  EXPECT_NE(parsed.value(), manifest);
}

TEST(Manifest, NamesTheWeightsAsTheDesignSays) {
  // printf 'a.weight %s\nb.weight %s\n' $(printf 1234 | sha256sum) $(printf 5678 | sha256sum) | sha256sum
  const std::map<std::string, std::string> tensors = {
      {"b.weight", "f8638b979b2f4f793ddb6dbd197e0ee25a7a6ea32b0ae22f5e3c5d119d839e75"},
      {"a.weight", "03ac674216f3e15c761ee1a5e255f067953623c8b388b4459e13f978d7c846f4"}};
  EXPECT_EQ(sha256_hex(std::string_view("1234")), tensors.at("a.weight"));
  EXPECT_EQ(weights_sha256(tensors), "a6db1e6e4363b8ef3328ff232ae8461782d9ac40ce096aa7c13e04aa7814324c");
}

TEST(Checkpoint, IsFinishedByItsLastShard) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path() / "checkpoints"));
  const auto first = writer.add(shard_of(10, 0, 2));
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->has_value());
  EXPECT_EQ(list_checkpoints(scratch.path() / "checkpoints"), Steps{});
  const auto last = writer.add(shard_of(10, 1, 2));
  ASSERT_TRUE(last.ok() && last->has_value());
  EXPECT_EQ((*last)->tokens_total, 1000U);
  EXPECT_EQ((*last)->files.size(), 2U);
  EXPECT_EQ(list_checkpoints(scratch.path() / "checkpoints"), Steps{10});
}

TEST(Checkpoint, IsWrittenAlsoAfterAllOthersWereRemoved) {
  const auto here = std::filesystem::current_path();
  for (const std::filesystem::path folder : {"run/checkpoints", "run/checkpoints/", "checkpoints"}) {
    const Scratch scratch;
    std::filesystem::current_path(scratch.path());
    CheckpointWriter writer(settings_in(folder));
    EXPECT_TRUE(writer.add(shard_of(10, 0, 1)).ok());
    std::filesystem::remove_all(folder);
    const auto next = writer.add(shard_of(20, 0, 1));
    EXPECT_TRUE(next.ok()) << folder << ": " << next.failure().message;
    EXPECT_EQ(list_checkpoints(folder), Steps{20});
    std::filesystem::current_path(here);
  }
}

// Half a checkpoint in a directory that was made anew would be found by nobody.
TEST(Checkpoint, IsNotWrittenWhereTheRunWas) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path() / "run" / "checkpoints"));
  ASSERT_TRUE(writer.add(shard_of(10, 0, 1)).ok());
  std::filesystem::rename(scratch.path() / "run", scratch.path() / "moved");
  const auto next = writer.add(shard_of(20, 0, 1));
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.failure().error, Error::kIo);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "run"));
}

TEST(Checkpoint, ReadsTheSameWhateverTheCut) {
  std::vector<std::string> hashes;
  std::vector<TensorBlob> images;
  for (const std::uint32_t stages : {1U, 2U, 3U, 4U}) {
    const Scratch scratch;
    CheckpointWriter writer(settings_in(scratch.path()));
    const auto saved = save(writer, 20, stages);
    ASSERT_TRUE(saved.ok()) << saved.failure().message;
    hashes.push_back(saved->weights_sha256);
    const auto found = find_checkpoint(scratch.path(), "00000000000000ab");
    ASSERT_TRUE(found.ok() && found->checkpoint);
    EXPECT_EQ(found->checkpoint->manifest(), saved.value());
    EXPECT_EQ(found->checkpoint->weight_names(), small_model());
    images.push_back(found->checkpoint->image_of(small_model()).value());
    const auto half = found->checkpoint->image_of({"wte.weight", "h.0.mlp.c_fc.weight"});
    EXPECT_EQ(half.value(), state_image({"h.0.mlp.c_fc.weight", "wte.weight"}, 20));
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(images[i], state_image(small_model(), 20));
    EXPECT_EQ(hashes[i], hashes[0]);
  }
  EXPECT_FALSE(images[0] == state_image(small_model(), 21));
}

TEST(Checkpoint, IsReadInPiecesAlsoWhenItIsClosedAndPruned) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(save(writer, 20, 3).ok());
  std::shared_ptr<ImageSource> source;
  {
    const auto found = find_checkpoint(scratch.path(), {});
    ASSERT_TRUE(found.ok() && found->checkpoint);
    source = found->checkpoint->source_of(small_model()).value();
    EXPECT_FALSE(found->checkpoint->source_of({"h.7.mlp.c_fc.weight"}).ok());
    EXPECT_EQ(found->checkpoint->image_of(small_model()).value(), state_image(small_model(), 20));
  }
  std::filesystem::remove_all(checkpoint_folder(scratch.path(), 20));
  for (const std::size_t size : {1U, 7U, 100U, 100000U}) {
    EXPECT_EQ(read_in_pieces(*source, size).value(), text_of(state_image(small_model(), 20))) << size;
  }
  EXPECT_NE(read_in_pieces(*source, 7).value(), text_of(state_image(small_model(), 21)));
}

TEST(Checkpoint, GivesWeightsWithoutOptimiserStateAndNamesWhatItLacks) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(save(writer, 5).ok());
  const auto opened = Checkpoint::open(checkpoint_folder(scratch.path(), 5));
  ASSERT_TRUE(opened.ok());
  const Checkpoint copy = opened.value();
  const auto image = copy.weights_image().value();
  const auto tensors = parse_safetensors({image.bytes->data(), image.byte_count()}, "image");
  ASSERT_TRUE(tensors.ok());
  EXPECT_EQ(tensors->size(), small_model().size());
  const auto missing = copy.image_of({"h.7.mlp.c_fc.weight"});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.failure().message.find("h.7.mlp.c_fc.weight"), std::string::npos);
  EXPECT_FALSE(copy.image_of({"optimizer.exp_avg.wte.weight"}).ok());
}

TEST(Checkpoint, WithAgreedWeightsIsOfThemAndKeepsTheRestForItsMember) {
  const std::vector<std::string> prefixes = {"optimizer.exp_avg.", "outer.", "outer.momentum.", "outer.start."};
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  SaveShard shard = shard_of(5, 0, 1);
  shard.image = state_image(small_model(), 5, prefixes);
  const auto saved = writer.add(shard);
  ASSERT_TRUE(saved.ok() && saved->has_value());
  const auto opened = Checkpoint::open(checkpoint_folder(scratch.path(), 5));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->weight_names(), small_model());
  EXPECT_EQ(opened->image_of(small_model()).value(), shard.image);
  const auto image = opened->weights_image().value();
  const auto weights = parse_safetensors({image.bytes->data(), image.byte_count()}, "image");
  ASSERT_TRUE(weights.ok());
  ASSERT_EQ(weights->size(), small_model().size());
  for (const StoredTensor& weight : *weights) {
    const auto agreed = values_of("outer." + weight.name, 5);
    EXPECT_EQ(std::memcmp(weight.bytes.data(), agreed.data(), weight.bytes.size()), 0) << weight.name;
  }
  const Scratch other;  // the control: without them the sum is of the local ones
  CheckpointWriter plain(settings_in(other.path()));
  EXPECT_NE(plain.add(shard_of(5, 0, 1)).value()->weights_sha256, (*saved)->weights_sha256);
}

TEST(Checkpoint, WithAnAgreedWeightOfAnotherSizeGivesNoWeights) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  SaveShard shard = shard_of(5, 0, 1);
  const std::vector<float> values = values_of("a", 5);
  const auto own = std::as_bytes(std::span(values));
  shard.image = build_safetensors(
      {{"a", DType::kFloat32, {2, 3}, own}, {"outer.a", DType::kFloat32, {5}, own.first(5 * sizeof(float))}});
  ASSERT_TRUE(writer.add(shard).ok());
  const auto opened = Checkpoint::open(checkpoint_folder(scratch.path(), 5));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->weights_image().failure().error, Error::kInvalidData);
  EXPECT_EQ(opened->image_of({"a"}).value(), shard.image);
}

TEST(Checkpoint, TakesAShardTwice) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(writer.add(shard_of(1, 0, 2)).ok());
  ASSERT_TRUE(writer.add(shard_of(1, 0, 2)).ok());
  EXPECT_EQ(list_checkpoints(scratch.path()), Steps{});
  ASSERT_TRUE(writer.add(shard_of(1, 1, 2)).ok());
  EXPECT_TRUE(Checkpoint::open(checkpoint_folder(scratch.path(), 1)).ok());
}

TEST(Checkpoint, RefusesShardsThatDoNotBelongTogether) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(writer.add(shard_of(1, 0, 2)).ok());
  SaveShard other = shard_of(1, 1, 2);
  other.tokens_total += 1;
  EXPECT_EQ(writer.add(other).failure().error, Error::kInvalidData);
  EXPECT_EQ(writer.add(shard_of(1, 1, 3)).failure().error, Error::kInvalidData);
  EXPECT_EQ(writer.add(shard_of(1, 2, 2)).failure().error, Error::kInvalidData);
  other = shard_of(1, 1, 2);
  other.image = {};
  EXPECT_EQ(writer.add(other).failure().error, Error::kInvalidData);
  EXPECT_TRUE(writer.add(shard_of(1, 1, 2)).value().has_value()) << "a bad shard does not spoil the good ones";
}

TEST(Checkpoint, RefusesATensorThatTwoStagesSave) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(writer.add(shard_of(1, 0, 2)).ok());
  SaveShard twice = shard_of(1, 1, 2);
  twice.image = shard_of(1, 0, 2).image;
  const auto refused = writer.add(twice);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.failure().message.find("two stages save"), std::string::npos);
  EXPECT_EQ(list_checkpoints(scratch.path()), Steps{});
}

TEST(Checkpoint, KeepsTheNewestOnes) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path(), 2));
  for (const std::uint64_t step : {5U, 10U, 100U, 20U}) ASSERT_TRUE(save(writer, step).ok());
  EXPECT_EQ(list_checkpoints(scratch.path()), (Steps{100, 20}));
  CheckpointWriter keeps_all(settings_in(scratch.path(), 0));
  for (const std::uint64_t step : {200U, 300U}) ASSERT_TRUE(save(keeps_all, step).ok());
  EXPECT_EQ(list_checkpoints(scratch.path()), (Steps{300, 200, 100, 20}));
}

TEST(Checkpoint, OfAnotherRunIsNeitherReadNorPrunedNorReplaced) {
  const Scratch scratch;
  CheckpointWriterSettings others = settings_in(scratch.path(), 1);
  others.run = "00000000000000cd";
  CheckpointWriter own(settings_in(scratch.path(), 1)), other(others);
  ASSERT_TRUE(save(own, 10).ok());
  ASSERT_TRUE(save(other, 20).ok());
  ASSERT_TRUE(save(own, 15).ok());
  EXPECT_EQ(list_checkpoints(scratch.path()), (Steps{20, 15})) << "each has pruned its own";
  EXPECT_EQ(list_checkpoints(scratch.path(), others.run), Steps{20});
  EXPECT_EQ(find_checkpoint(scratch.path(), own.settings().run)->checkpoint->manifest().step, 15U);
  EXPECT_EQ(find_checkpoint(scratch.path(), others.run)->checkpoint->manifest().step, 20U);
  EXPECT_FALSE(find_checkpoint(scratch.path(), others.run, 15).ok());
  const auto refused = save(own, 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.failure().message.find("is a checkpoint of run 00000000000000cd"), std::string::npos);
  EXPECT_EQ(list_checkpoints(scratch.path()), (Steps{20, 15}));
  EXPECT_TRUE(find_checkpoint(scratch.path(), others.run, 20).ok());
  EXPECT_TRUE(save(own, 30).ok());
}

// A spawner looks for one while storage saves the next and removes the last.
TEST(Checkpoint, IsFoundWhileOthersTakeItsPlace) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path(), 1));
  ASSERT_TRUE(save(writer, 1).ok());
  std::atomic<bool> is_done = false;
  std::thread saves([&] {
    for (std::uint64_t step = 2; step <= 200; ++step) EXPECT_TRUE(save(writer, step).ok());
    is_done = true;
  });
  std::uint64_t newest = 0;
  while (!is_done) {
    const auto found = find_checkpoint(scratch.path(), {});
    if (!found || !found->checkpoint) {
      ADD_FAILURE() << "after step " << newest << ": " << (found ? "none" : found.failure().message);
      break;
    }
    EXPECT_GE(found->checkpoint->manifest().step, newest);
    newest = found->checkpoint->manifest().step;
  }
  saves.join();
}

TEST(Checkpoint, OfALaterBranchIsNewerWhateverItsStep) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path(), 2));
  ASSERT_TRUE(save(writer, 200).ok());
  ASSERT_TRUE(save(writer, 400).ok());
  ASSERT_TRUE(save(writer, 300, 2, 1).ok());
  EXPECT_EQ(list_checkpoints(scratch.path()), (Steps{300, 400}));
  EXPECT_EQ(find_checkpoint(scratch.path(), {})->checkpoint->manifest().branch, 1U);
}

TEST(Checkpoint, ReplacesTheSameStepOfAnOlderBranch) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(save(writer, 7, 4).ok());
  ASSERT_TRUE(save(writer, 7, 2, 1).ok());
  const auto opened = Checkpoint::open(checkpoint_folder(scratch.path(), 7));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->manifest().branch, 1U);
  EXPECT_EQ(opened->manifest().files.size(), 2U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
}

// A shard of a branch that was left may be on its way for long, and come to a writer that was started again meanwhile.
TEST(Checkpoint, IsNotReplacedByTheSameStepOfAnOlderBranch) {
  const Scratch scratch;
  {
    CheckpointWriter writer(settings_in(scratch.path()));
    ASSERT_TRUE(save(writer, 200, 1, 1).ok());
    EXPECT_EQ(save(writer, 200, 1, 0).failure().error, Error::kInvalidData);
    EXPECT_FALSE(writer.add(shard_of(300, 0, 2, 0)).ok()) << "another step of it is of no use either";
    EXPECT_TRUE(save(writer, 300, 1, 1).ok());
  }
  CheckpointWriter next(settings_in(scratch.path()));
  const auto refused = save(next, 200, 1, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.failure().message.find("of branch 1, and stays"), std::string::npos) << refused.failure().message;
  const auto there = Checkpoint::open(checkpoint_folder(scratch.path(), 200));
  ASSERT_TRUE(there.ok());
  EXPECT_EQ(there->manifest().branch, 1U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 2) << "nothing is left of it";
}

// To remove what a checkpoint of several GiB holds takes a while.
TEST(Checkpoint, ThatWasHalfPrunedWhenTheWriterWasKilledIsCleared) {
  const Scratch scratch;
  {
    CheckpointWriter killed(settings_in(scratch.path(), 2));
    for (const std::uint64_t step : {1U, 2U, 3U}) ASSERT_TRUE(save(killed, step).ok());
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 2) << "it prunes";
  std::filesystem::rename(checkpoint_folder(scratch.path(), 2), scratch.path() / ".step_2.pruned");
  CheckpointWriter next(settings_in(scratch.path(), 2));
  ASSERT_TRUE(save(next, 4).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 2);
  EXPECT_EQ(list_checkpoints(scratch.path()), (Steps{4, 3}));
}

// A checkpoint without its manifest may be one that a person is copying back.
TEST(Checkpoint, OnlyWhatAWriterLeavesIsCleared) {
  const Scratch scratch;
  const std::vector<std::string> kept = {"step_1", "step_2", "step_3", "step_x", "step_", "other"};
  for (const std::string& name : kept) {
    std::filesystem::create_directories(scratch.path() / name);
    std::ofstream(scratch.path() / name / "stage_0.safetensors") << "x";
  }
  std::ofstream(scratch.path() / "step_1" / "manifest.json") << "damaged";
  std::ofstream(scratch.path() / "step_2" / "notes.txt") << "a person's";
  std::filesystem::create_directories(scratch.path() / "elsewhere");
  std::filesystem::create_directory_symlink(scratch.path() / "elsewhere", scratch.path() / "step_9");
  CheckpointWriter writer(settings_in(scratch.path(), 1));
  for (const std::uint64_t step : {4U, 5U}) ASSERT_TRUE(save(writer, step).ok());
  for (const std::string& name : kept) EXPECT_TRUE(std::filesystem::exists(scratch.path() / name)) << name;
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path() / "step_9"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "step_4"));
}

TEST(Checkpoint, IsNothingBeforeItIsFinishedAndAKilledWritersRestIsCleared) {
  const Scratch scratch;
  {
    CheckpointWriter killed(settings_in(scratch.path()));
    ASSERT_TRUE(save(killed, 1).ok());
    ASSERT_TRUE(killed.add(shard_of(2, 3, 4)).ok());
  }
  const auto found = find_checkpoint(scratch.path(), {});
  EXPECT_EQ(found->checkpoint->manifest().step, 1U);
  EXPECT_TRUE(found->skipped.empty());
  CheckpointWriter next(settings_in(scratch.path()));
  ASSERT_TRUE(save(next, 2).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(checkpoint_folder(scratch.path(), 2)), {}), 3)
      << "two shards and a manifest, nothing of the four-stage try";
}

TEST(Checkpoint, ThatSteppedAsideWhenTheWriterWasKilledReturns) {
  const Scratch scratch;
  CheckpointWriter killed(settings_in(scratch.path()));
  ASSERT_TRUE(save(killed, 9).ok());
  std::filesystem::rename(checkpoint_folder(scratch.path(), 9), scratch.path() / ".step_9.replaced");
  CheckpointWriter next(settings_in(scratch.path()));
  ASSERT_TRUE(next.add(shard_of(10, 0, 2)).ok());
  EXPECT_TRUE(Checkpoint::open(checkpoint_folder(scratch.path(), 9)).ok());
}

// The rename back fails: its name is a link that leads nowhere.
TEST(Checkpoint, ThatSteppedAsideStaysWhereItCannotReturn) {
  const Scratch scratch;
  CheckpointWriter killed(settings_in(scratch.path()));
  ASSERT_TRUE(save(killed, 9).ok());
  const std::filesystem::path name = checkpoint_folder(scratch.path(), 9);
  const std::filesystem::path aside = scratch.path() / ".step_9.replaced";
  std::filesystem::rename(name, aside);
  std::filesystem::create_symlink("nowhere", name);
  CheckpointWriter next(settings_in(scratch.path()));
  ASSERT_TRUE(next.add(shard_of(10, 0, 2)).ok());
  EXPECT_TRUE(Checkpoint::open(aside).ok()) << "a reader may be using it";
  std::filesystem::remove(name);
  const auto found = find_checkpoint(scratch.path(), killed.settings().run);
  ASSERT_TRUE(found.ok() && found->checkpoint);
  EXPECT_EQ(found->checkpoint->manifest().step, 9U);
}

// The only one that a run keeps: until a writer returns it, readers must find it.
TEST(Checkpoint, ThatSteppedAsideIsFoundBeforeAnyWriterComes) {
  const Scratch scratch;
  CheckpointWriter killed(settings_in(scratch.path(), 1));
  ASSERT_TRUE(save(killed, 2).ok());
  const std::filesystem::path aside = scratch.path() / ".step_2.replaced";
  std::filesystem::rename(checkpoint_folder(scratch.path(), 2), aside);
  EXPECT_EQ(list_checkpoints(scratch.path()), Steps{2});
  EXPECT_EQ(checkpoint_folder(scratch.path(), 2), aside);
  EXPECT_EQ(folder_of_step(scratch.path(), 2), scratch.path() / "step_2");
  for (const std::optional<std::uint64_t> step : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(2)}) {
    const auto found = find_checkpoint(scratch.path(), killed.settings().run, step);
    ASSERT_TRUE(found.ok() && found->checkpoint);
    EXPECT_EQ(found->checkpoint->manifest().step, 2U);
    EXPECT_EQ(found->checkpoint->image_of(small_model()).value(), state_image(small_model(), 2));
  }
  EXPECT_FALSE(find_checkpoint(scratch.path(), {}, std::nullopt, 1)->checkpoint) << "not beyond";
  // The other one took its name: the killed writer did not come to remove this one.
  std::filesystem::copy(aside, scratch.path() / "step_2");
  EXPECT_EQ(list_checkpoints(scratch.path()), Steps{2});
  EXPECT_EQ(checkpoint_folder(scratch.path(), 2), scratch.path() / "step_2");
}

TEST(Checkpoint, IsNotTakenOfAFolderThatIsCalledAlike) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  ASSERT_TRUE(save(writer, 2).ok());
  for (const char* name : {".step_.replaced", ".step_x.replaced", ".replaced", ".step_2", "step_2.replaced",
                           ".step_2.pruned", ".step_2.branch_0.partial"}) {
    std::filesystem::rename(checkpoint_folder(scratch.path(), 2), scratch.path() / name);
    EXPECT_EQ(list_checkpoints(scratch.path()), Steps{}) << name;
    std::filesystem::rename(scratch.path() / name, scratch.path() / "step_2");
  }
}

// Tells which names were taken in a folder by renaming.
class RenamedNames {
 public:
  explicit RenamedNames(const std::filesystem::path& folder) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(events_, folder.c_str(), IN_MOVED_TO), 0);
  }
  ~RenamedNames() { ::close(events_); }
  RenamedNames(const RenamedNames&) = delete;
  RenamedNames& operator=(const RenamedNames&) = delete;

  [[nodiscard]] std::set<std::string> read() const {
    std::set<std::string> names;
    std::array<char, 65536> bytes{};
    const ssize_t count = ::read(events_, bytes.data(), bytes.size());
    for (ssize_t at = 0; at < count;) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      names.emplace(bytes.data() + at + sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
    return names;
  }

 private:
  int events_;
};

// A writer that is killed between two renames would leave no checkpoint under its name.
TEST(Checkpoint, SwapsNamesWithTheOneThatItReplaces) {
  const Scratch scratch;
  for (const char* name : {"a", "b"}) std::filesystem::create_directory(scratch.path() / name);
  if (::renameat2(AT_FDCWD, (scratch.path() / "a").c_str(), AT_FDCWD, (scratch.path() / "b").c_str(),
                  RENAME_EXCHANGE) != 0) {
    GTEST_SKIP() << "this file system cannot swap names";
  }
  const std::filesystem::path folder = scratch.path() / "checkpoints";
  CheckpointWriter writer(settings_in(folder, 1));
  ASSERT_TRUE(save(writer, 7).ok());
  const RenamedNames renamed(folder);
  ASSERT_TRUE(save(writer, 7, 2, 1).ok());
  const auto names = renamed.read();
  EXPECT_TRUE(names.contains("step_7"));
  EXPECT_FALSE(names.contains(".step_7.replaced"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "the old one is removed";
  EXPECT_EQ(find_checkpoint(folder, {})->checkpoint->manifest().branch, 1U);
}

TEST(Checkpoint, UnfinishedOnesAreBoundedAndGivenUpWhenALaterOneIsWhole) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  for (std::uint64_t step = 1; step <= 9; ++step) ASSERT_TRUE(writer.add(shard_of(step, 0, 2)).ok());
  EXPECT_LE(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 4);
  ASSERT_TRUE(writer.add(shard_of(9, 1, 2)).value().has_value());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
}

// A shard of an older branch may come late.
TEST(Checkpoint, AStrayShardOfAnOlderOnePutsOutNoUnfinishedOne) {
  const Scratch scratch;
  CheckpointWriter writer(settings_in(scratch.path()));
  for (std::uint64_t step = 1; step <= 4; ++step) ASSERT_TRUE(writer.add(shard_of(step, 0, 2, 2)).ok());
  const auto stray = writer.add(shard_of(9, 0, 2, 1));
  ASSERT_FALSE(stray.ok());
  EXPECT_EQ(stray.failure().error, Error::kInvalidData);
  EXPECT_TRUE(writer.add(shard_of(1, 1, 2, 2)).value().has_value()) << "the oldest was not given up";
  const Scratch other;
  CheckpointWriter with_room(settings_in(other.path()));
  for (std::uint64_t step = 1; step <= 3; ++step) ASSERT_TRUE(with_room.add(shard_of(step, 0, 2, 2)).ok());
  EXPECT_TRUE(with_room.add(shard_of(9, 0, 2, 1)).ok()) << "the control: there is room for it";
}

TEST(Checkpoint, OfNowhereIsNone) {
  const auto found = find_checkpoint("/nowhere/at/all", {});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->checkpoint.has_value());
  EXPECT_EQ(find_checkpoint("/nowhere/at/all", {}, 5).failure().error, Error::kInvalidData);
}

}  // namespace
}  // namespace shoal::checkpoint_test
