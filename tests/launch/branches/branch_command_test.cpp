// Commands that find a branch which another one was killed in the middle of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/branches/branch_entry.h"
#include "launch/commands/run/run_entry.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/start_points.h"
#include "launch/processes/text/recorded_text.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/data/tokens.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::branch_command_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// The bytes of a shard of so many tokens, all of them 'a'.
std::string shard_of(std::uint32_t count) {
  std::string bytes;
  for (const std::uint32_t value : {20240520U, 1U, count}) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
  bytes.resize(1024, '\0');
  for (std::uint32_t i = 0; i < count; ++i) bytes.append("a\0", 2);
  return bytes;
}

class BranchCommand : public testing::Test {
 protected:
  BranchCommand() : corpus_(scratch_.file("text.txt", std::string(4000, 'a'))) {
    RunChoice choice;
    choice.sets = {"data.corpus=" + corpus_.string(), "model.context=16"};
    choice.out = "run";
    EXPECT_TRUE(enter(choice, {}).ok());
    before_ = *read_file(run_.config());
  }

  // Goes as far as the command would before it starts processes.
  [[nodiscard]] Status enter(const RunChoice& choice, std::optional<std::uint64_t> stop_at) const {
    auto chosen = choose_run(choice, {{}, scratch_.path().string(), {}});
    if (!chosen) return chosen.failure();
    const auto held = enter_run(*chosen, stop_at);
    return held ? Status(Done{}) : held.failure();
  }
  [[nodiscard]] Status resume(const std::optional<BranchWish>& branch, const Words& sets,
                              std::optional<std::uint64_t> stop_at = {}) const {
    RunChoice choice;
    choice.is_resumed = true;
    choice.resume_directory = "run";
    choice.sets = sets;
    choice.branch = branch;
    return enter(choice, stop_at);
  }
  // Leaves the run as a command does that is killed after the line of branch b. corpus: what the branch trains on.
  void leave_half_made(const fs::path& corpus) const {
    auto now = parse_config(before_, "config.toml");
    now->optim.lr = 0.5;
    now->data.corpus = corpus.string();
    const auto text = open_tokens(*now);
    ASSERT_TRUE(text.ok()) << text.failure().message;
    const BranchRecord record{"b", Branch{1}, 0, {{"optim.lr", "0.001", "0.5"}}, (*text)->corpus_sha256()};
    ASSERT_TRUE(replace_file((run_.root / "config.next-b.toml").string(), write_config(*now)).ok());
    const auto lines = read_file(run_.metrics());
    ASSERT_TRUE(replace_file(run_.metrics(), *lines + to_json_line(record) + "\n").ok());
  }
  void leave_half_made() const { leave_half_made(corpus_); }
  // A step's line of this branch: the branch has begun for good.
  void add_step(std::uint32_t branch) const {
    StepRecord step;
    step.branch = branch;
    const auto lines = read_file(run_.metrics());
    ASSERT_TRUE(replace_file(run_.metrics(), *lines + to_json_line(step) + "\n").ok());
  }
  // A folder with shards of so many tokens each, the first of which is part_01.bin.
  [[nodiscard]] fs::path shards(const std::vector<std::uint32_t>& counts) const {
    fs::create_directory(scratch_.path() / "shards");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      (void)scratch_.file("shards/part_0" + std::to_string(i + 1) + ".bin", shard_of(counts[i]));
    }
    return scratch_.path() / "shards";
  }
  // Leaves a checkpoint of the run as it is, as far as a command looks at it before it reads one whole.
  void save() const {
    const Config config = *read_run_config(run_.root.string());
    CheckpointManifest manifest;
    manifest.run = id_of(run_);
    manifest.step = 1;
    manifest.corpus_sha256 = text_of_run(run_)->sha256;
    manifest.files["stage_0.safetensors"] = {"0", 1};
    const auto folder = checkpoint_folder(run_.checkpoints(config), 1);
    fs::create_directories(folder);
    ASSERT_TRUE(replace_file((folder / "manifest.json").string(), to_json(manifest)).ok());
  }
  void expect_begun_once() const {
    EXPECT_EQ(branches_told_by(run_.metrics()).size(), 1U);
    EXPECT_EQ(read_run_config(run_.root.string())->optim.lr, 0.5);
    EXPECT_EQ(*read_file((run_.root / "config.before-b.toml").string()), before_);
    EXPECT_FALSE(fs::exists(run_.root / "config.next-b.toml"));
  }

  const Scratch scratch_;
  const fs::path corpus_;
  const RunDirectory run_{scratch_.path() / "run"};
  std::string before_;
};

TEST_F(BranchCommand, TheSameOneAgainFinishesWhatItBegan) {
  leave_half_made();
  const Status again = resume(BranchWish{"b", {}}, {"optim.lr=0.5"}, 5);
  ASSERT_TRUE(again.ok()) << again.failure().message;
  expect_begun_once();
  EXPECT_TRUE(resume(BranchWish{"b", 0}, {"optim.lr=0.5"}).ok()) << "killed before its first step, and typed once more";
  expect_begun_once();
}

TEST_F(BranchCommand, WithoutABranchFinishesItToo) {
  leave_half_made();
  const Status resumed = resume({}, {}, 5);
  ASSERT_TRUE(resumed.ok()) << resumed.failure().message;
  expect_begun_once();
}

TEST_F(BranchCommand, ThatWantsAnotherOneIsToldWhatStandsHalfMade) {
  leave_half_made();
  for (const auto& [name, set] : {std::pair{"c", "optim.lr=0.5"}, std::pair{"b", "optim.lr=0.1"}}) {
    const Status refused = resume(BranchWish{name, {}}, {set});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().error, Error::kUsage);
    EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("branch b stands half-made"),
                                                 HasSubstr("optim.lr = 0.5 (was 0.001)"), HasSubstr("--resume")));
  }
  EXPECT_TRUE(fs::exists(run_.root / "config.next-b.toml")) << "nothing is written";
  EXPECT_EQ(*read_file(run_.config()), before_);
}

// The record of the text is that of before the branch, and its line says what it trains on.
TEST_F(BranchCommand, WithoutABranchFinishesOneOnAnotherText) {
  ASSERT_TRUE(resume(BranchWish{"a", {}}, {"data.corpus=" + shards({1000, 2000}).string()}).ok());
  before_ = *read_file(run_.config());
  (void)scratch_.file("other.txt", std::string(5000, 'b'));
  leave_half_made(scratch_.path() / "other.txt");
  const Status resumed = resume({}, {});
  ASSERT_TRUE(resumed.ok()) << resumed.failure().message;
  EXPECT_TRUE(resume({}, {}).ok());
  (void)scratch_.file("other.txt", std::string(5000, 'c'));
  EXPECT_EQ(resume({}, {}).failure().error, Error::kInvalidData);
}

TEST_F(BranchCommand, HalfMadeOnATextThatHasChangedSinceIsRefused) {
  (void)scratch_.file("other.txt", std::string(5000, 'b'));
  leave_half_made(scratch_.path() / "other.txt");
  (void)scratch_.file("other.txt", std::string(5000, 'c'));
  EXPECT_THAT(resume({}, {}).failure().message, HasSubstr("other.txt holds other tokens"));
}

TEST_F(BranchCommand, FromShardsToATextAndBackGoesOn) {
  const std::string folder = shards({1000, 2000}).string();
  ASSERT_TRUE(resume(BranchWish{"a", {}}, {"data.corpus=" + folder}).ok());
  EXPECT_THAT(*read_file(run_.shards()), HasSubstr("part_02.bin 2000 "));
  add_step(1);
  ASSERT_TRUE(resume(BranchWish{"b", {0}}, {"data.corpus=" + corpus_.string()}).ok());
  EXPECT_FALSE(fs::exists(run_.shards()));
  add_step(2);
  const Status resumed = resume({}, {});
  ASSERT_TRUE(resumed.ok()) << resumed.failure().message;
  ASSERT_TRUE(resume(BranchWish{"c", {0}}, {"data.corpus=" + folder}).ok());
  add_step(3);
  EXPECT_TRUE(resume({}, {}).ok());
  (void)shards({1000, 2000, 3000});
  EXPECT_THAT(resume({}, {}).failure().message, HasSubstr("the shard part_03.bin is new"));
}

// A branch that sets another rate goes on with the text that was.
TEST_F(BranchCommand, OnAChangedTextIsRefusedUnlessItNamesAnother) {
  (void)scratch_.file("text.txt", std::string(4000, 'b'));
  const Status refused = resume(BranchWish{"b", 0}, {"optim.lr=0.5"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_THAT(refused.failure().message, HasSubstr("text.txt holds other tokens"));
  EXPECT_FALSE(fs::exists(run_.root / "config.next-b.toml")) << "nothing is written";
  EXPECT_EQ(resume({}, {}).failure().error, Error::kInvalidData) << "before its first checkpoint, too";
  fs::rename(corpus_, scratch_.path() / "other.txt");
  const Status named =
      resume(BranchWish{"b", 0}, {"optim.lr=0.5", "data.corpus=" + (scratch_.path() / "other.txt").string()});
  EXPECT_TRUE(named.ok()) << named.failure().message;
}

// A record is removed where it is damaged, and older runs have none.
TEST_F(BranchCommand, WithoutARecordGoesOnWithTheTextOfTheCheckpointAlone) {
  save();
  const auto recorded = read_file(run_.text());
  fs::remove(run_.text());
  (void)scratch_.file("text.txt", std::string(4000, 'b'));
  EXPECT_THAT(resume({}, {}).failure().message, HasSubstr("text.txt holds other tokens"));
  EXPECT_FALSE(fs::exists(run_.text())) << "the wrong text is not recorded";
  (void)scratch_.file("text.txt", std::string(4000, 'a'));
  const Status resumed = resume({}, {});
  ASSERT_TRUE(resumed.ok()) << resumed.failure().message;
  EXPECT_EQ(*read_file(run_.text()), *recorded);
}

TEST_F(BranchCommand, WithoutARecordIsToldTheShardByTheList) {
  ASSERT_TRUE(resume(BranchWish{"a", {}}, {"data.corpus=" + shards({1000, 2000}).string()}).ok());
  add_step(1);
  const auto list = read_file(run_.shards());
  fs::remove(run_.text());
  (void)shards({1000, 2001});
  EXPECT_THAT(resume({}, {}).failure().message, HasSubstr("the shard part_02.bin holds other tokens"));
  EXPECT_EQ(*read_file(run_.shards()), *list) << "the list is kept";
  (void)shards({1000, 2000});
  EXPECT_TRUE(resume({}, {}).ok());
}

// A command that reads the run, as `eval` does, has the split that the run has.
TEST_F(BranchCommand, OpensTheShardsOfTheRunAloneWhereAFolderHasGrown) {
  ASSERT_TRUE(resume(BranchWish{"a", {}}, {"data.corpus=" + shards({1000, 2000}).string()}).ok());
  add_step(1);
  const Config config = *read_run_config(run_.root.string());
  (void)shards({1000, 2000, 3000});
  for (const bool is_recorded : {true, false}) {
    if (!is_recorded) fs::remove(run_.text());
    const auto tokens = open_so_far(run_, config);
    ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
    EXPECT_EQ((*tokens)->count(), 3000U) << is_recorded;
  }
}

}  // namespace
}  // namespace shoal::branch_command_test
