// Tests what a run directory says of its text, and what a process does that finds another, or none.
#include "launch/processes/text/recorded_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "launch/processes/text/late_tokens.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::recorded_text_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The bytes of a shard of so many tokens, all of them this letter.
std::string shard_of(std::uint32_t count, char letter) {
  std::string bytes;
  for (const std::uint32_t value : {20240520U, 1U, count}) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
  bytes.resize(1024, '\0');
  for (std::uint32_t i = 0; i < count; ++i) bytes.append({letter, '\0'});
  return bytes;
}

class TextOnRecord : public testing::Test {
 protected:
  TextOnRecord() {
    fs::create_directory(folder());
    for (const auto& [name, letter] : {std::pair{"part_01.bin", 'a'}, {"part_02.bin", 'b'}}) write(name, letter);
  }
  void write(const std::string& name, char letter) const {
    (void)scratch_.file("shards/" + name, shard_of(1000, letter));
  }
  [[nodiscard]] fs::path folder() const { return scratch_.path() / "shards"; }
  [[nodiscard]] static Config on(const fs::path& corpus) {
    return *load_config({{}, {}, {"model.context=16", "data.corpus=" + corpus.string()}});
  }
  [[nodiscard]] static RecordedText taken_of(const Config& config) {
    const auto tokens = open_tokens(config);
    EXPECT_TRUE(tokens.ok()) << tokens.failure().message;
    return record_of(**tokens);
  }
  static void expect_refused(const RecordedText& text, const Config& config, const std::string& why) {
    const auto refused = open_recorded(text, config);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().error, Error::kInvalidData);
    EXPECT_THAT(refused.failure().message, HasSubstr(why));
  }

  const Scratch scratch_;
  const RunDirectory run_{scratch_.path()};
};

TEST_F(TextOnRecord, IsReadAsItWasWritten) {
  EXPECT_EQ(*recorded_text(run_), std::nullopt);
  EXPECT_THAT(text_of_run(run_).failure().message, HasSubstr("text.sha256 is missing"));
  const RecordedText shards = taken_of(on(folder()));
  EXPECT_EQ(shards.count, 2000U);
  ASSERT_TRUE(record_text(run_, shards).ok());
  EXPECT_EQ(*text_of_run(run_), shards);
  const RecordedText text = taken_of(on(scratch_.file("text.txt", std::string(4000, 'a'))));
  ASSERT_TRUE(record_text(run_, text).ok());
  EXPECT_EQ(*text_of_run(run_), text);
  EXPECT_FALSE(fs::exists(run_.shards()));
  ASSERT_TRUE(replace_file(run_.text(), "no digest 7\n").ok());
  EXPECT_THAT(recorded_text(run_).failure().message, HasSubstr("is damaged"));
}

// A command that is killed between the two files leaves the text of before.
TEST_F(TextOnRecord, HasTheListOfItsOwnShardsOrNone) {
  RecordedText before = taken_of(on(folder()));
  ASSERT_TRUE(record_text(run_, before).ok());
  write("part_03.bin", 'c');
  ASSERT_TRUE(replace_file(run_.shards(), taken_of(on(folder())).shards).ok());
  before.shards.clear();
  EXPECT_EQ(*text_of_run(run_), before);
}

TEST_F(TextOnRecord, IsOpenedAgainWhateverElseHasCome) {
  for (const fs::path& corpus : {folder(), folder() / "*.bin", folder() / "part_0?.bin"}) {
    const Config config = on(corpus);
    const RecordedText text = taken_of(config);
    write("part_03.bin", 'c');
    (void)scratch_.file("shards/part_05.bin", "half a download");
    const auto tokens = open_recorded(text, config);
    ASSERT_TRUE(tokens.ok()) << corpus << ": " << tokens.failure().message;
    EXPECT_EQ((*tokens)->count(), 2000U);
    EXPECT_EQ(record_of(**tokens), text);
    for (const char* const name : {"part_03.bin", "part_05.bin"}) fs::remove(folder() / name);
  }
  const Config one = on(folder() / "part_01.bin");
  EXPECT_TRUE(open_recorded(taken_of(one), one).ok());
}

TEST_F(TextOnRecord, IsNotOpenedWhereItIsAnother) {
  for (const fs::path& corpus : {folder(), folder() / "*.bin"}) {
    const Config config = on(corpus);
    const RecordedText text = taken_of(config);
    fs::rename(folder() / "part_02.bin", scratch_.path() / "away");
    expect_refused(text, config, "part_02.bin");
    write("part_02.bin", 'x');
    expect_refused(text, config, "the shard part_02.bin holds other tokens");
    fs::rename(scratch_.path() / "away", folder() / "part_02.bin");
    EXPECT_TRUE(open_recorded(text, config).ok());
  }
  const Config config = on(scratch_.file("text.txt", std::string(4000, 'a')));
  const RecordedText text = taken_of(config);
  (void)scratch_.file("text.txt", std::string(4000, 'b'));
  expect_refused(text, config, "text.txt holds other tokens");
}

TEST_F(TextOnRecord, OfABranchWithoutStepsIsThatOfItsLine) {
  const RecordedText recorded{"old", 7, "a.bin 7 f\n"};
  const BranchRecord same{"b", Branch{1}, 0, {}, "old"}, other{"b", Branch{1}, 0, {}, "new"};
  EXPECT_EQ(text_to_go_on_with(recorded, {}), recorded);
  EXPECT_EQ(text_to_go_on_with(recorded, same), recorded);
  EXPECT_EQ(text_to_go_on_with(recorded, other), (RecordedText{"new", 0, ""}));
}

TEST_F(TextOnRecord, ThatIsMissingIsThatOfTheNewestState) {
  const std::string list = "a.bin 7 f\n";
  const std::string listed = sha256_hex(std::string_view(list));
  CheckpointManifest saved;
  saved.branch = 2;
  saved.corpus_sha256 = "saved";
  const BranchRecord before{"a", Branch{2}, 0, {}, "a"}, after{"b", Branch{3}, 0, {}, "b"};
  EXPECT_EQ(text_without_record({}, {}, ""), std::nullopt) << "nothing was trained";
  EXPECT_EQ(text_without_record(saved, {}, ""), (RecordedText{"saved", 0, ""}));
  EXPECT_EQ(text_without_record(saved, before, ""), (RecordedText{"saved", 0, ""}));
  EXPECT_EQ(text_without_record(saved, after, ""), (RecordedText{"b", 0, ""})) << "saved before the branch";
  EXPECT_EQ(text_without_record({}, before, ""), (RecordedText{"a", 0, ""}));
  EXPECT_EQ(text_without_record({}, {}, list), (RecordedText{listed, 0, list}));
  EXPECT_EQ(text_without_record(saved, {}, list), (RecordedText{"saved", 0, ""})) << "a list of another text";
  saved.corpus_sha256 = listed;
  EXPECT_EQ(text_without_record(saved, {}, list), (RecordedText{listed, 0, list}));
}

// Returns what a person is told whose data.corpus has other tokens.
std::string told(const RecordedText& before, const RecordedText& now, const std::string& path) {
  const Status same = check_same_text(before, now, path);
  return same ? std::string() : same.failure().message;
}

TEST_F(TextOnRecord, ThatIsAnotherIsToldWithWhatToDo) {
  const RecordedText one{"one", 7, "a.bin 7 f\n"}, two{"two", 9, "a.bin 7 f\nb.bin 2 g\n"};
  const std::string path = folder().string();
  const std::string pattern = path + "/*.bin";
  EXPECT_EQ(told(one, one, path), "");
  EXPECT_THAT(told(one, two, path), AllOf(HasSubstr("the shard b.bin is new"), HasSubstr("Move the new ones elsewhere"),
                                          HasSubstr("--set 'data.corpus=" + pattern + "'"), Not(HasSubstr("back"))));
  EXPECT_THAT(told(one, two, pattern), AllOf(HasSubstr("b.bin is new"), HasSubstr("another pattern")));
  EXPECT_THAT(told(two, one, path), AllOf(HasSubstr("the shard b.bin is missing"), HasSubstr("Put them back")));
  const RecordedText changed{"three", 9, "a.bin 7 x\nb.bin 2 g\n"};
  EXPECT_THAT(told(one, changed, path), AllOf(HasSubstr("a.bin holds other tokens"), HasSubstr("Put them back")));
  const RecordedText of_branch = text_to_go_on_with(one, BranchRecord{"b", Branch{1}, 0, {}, "new"});
  EXPECT_THAT(told(of_branch, two, path), AllOf(HasSubstr(path + " holds other tokens"), Not(HasSubstr("text.sha256")),
                                                Not(HasSubstr("shards.txt"))));
}

// Versions before this one called shards by the names of their files alone, in the order of the file system.
TEST_F(TextOnRecord, OfOlderNamesAndOrderStays) {
  for (const char* dump : {"a", "b"}) {
    fs::create_directory(folder() / dump);
    (void)scratch_.file(std::string("shards/") + dump + "/train.bin", shard_of(1000, *dump));
  }
  const Config config = on(folder() / "?" / "train.bin");
  const RecordedText now = taken_of(config);
  ASSERT_TRUE(now.shards.starts_with("a/train.bin 1000 ")) << now.shards;
  const auto second = now.shards.find("b/train.bin");
  const std::string list = now.shards.substr(second + 2) + now.shards.substr(2, second - 2);
  const RecordedText before{sha256_hex(std::string_view(list)), 2000, list};
  const auto kept = text_to_keep(before, now, config.data.corpus);
  ASSERT_TRUE(kept.ok()) << kept.failure().message;
  EXPECT_EQ(*kept, before);
  const auto tokens = open_recorded(*kept, config);
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  std::vector<std::int32_t> read(2000);
  ASSERT_TRUE((*tokens)->read(0, read).ok());
  EXPECT_EQ(read.front(), 'b') << "in the order that the run has had so far";
  EXPECT_EQ(read.back(), 'a');
  fs::create_directory(folder() / "c");
  (void)scratch_.file("shards/c/train.bin", shard_of(1000, 'c'));
  const auto grown = text_to_keep(before, taken_of(config), config.data.corpus);
  ASSERT_FALSE(grown.ok());
  EXPECT_THAT(grown.failure().message, AllOf(HasSubstr("c/train.bin is new"), HasSubstr("has more shards")));
  EXPECT_TRUE(open_recorded(before, config).ok()) << "a run that goes on does not see it";
}

TEST_F(TextOnRecord, IsTriedAgainWithPausesAsLongAsItIsExpensive) {
  using std::chrono::seconds;
  EXPECT_EQ(pause_after(std::chrono::milliseconds(1), seconds(1)), seconds(1)) << "it is away";
  EXPECT_EQ(pause_after(seconds(2), seconds(1)), seconds(18)) << "it was read whole";
  EXPECT_EQ(pause_after(seconds(500), seconds(1)), seconds(60));
}

// Returns whether the tokens could be read at last.
bool is_read_at_last(const Tokens& tokens, std::span<std::int32_t> out) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (tokens.read(990, out)) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST_F(TextOnRecord, IsPlannedWithBeforeItCanBeRead) {
  const Config config = on(folder());
  const RecordedText text = taken_of(config);
  const auto whole = open_recorded(text, config);
  std::atomic<bool> is_there = false;
  std::atomic<int> attempts = 0;
  const auto open = [&]() -> Result<std::shared_ptr<const Tokens>> {
    ++attempts;
    return is_there ? whole : Result<std::shared_ptr<const Tokens>>(fail(Error::kIo, "still away"));
  };
  auto store = std::make_unique<LateTokens>(LateTokens::Known{text.count, text.sha256, text.shards},
                                            fail(Error::kIo, "away"), open, std::chrono::milliseconds(1));
  const auto tokens = Tokens::of("corpus", std::move(store), 0.1);
  EXPECT_EQ(tokens->split().train, (*whole)->split().train);
  EXPECT_EQ(record_of(*tokens), text);
  std::vector<std::int32_t> read(20);
  while (attempts < 2) std::this_thread::yield();
  EXPECT_EQ(tokens->read(990, read).failure().message, "still away");
  is_there = true;
  ASSERT_TRUE(is_read_at_last(*tokens, read));
  EXPECT_EQ(read[9], 'a');
  EXPECT_EQ(read[10], 'b');
}

TEST_F(TextOnRecord, ThatIsAwayIsReadWhenItComes) {
  const Config config = on(folder());
  const RecordedText text = taken_of(config);
  fs::rename(folder(), scratch_.path() / "away");
  const auto missing = open_recorded(text, config);
  ASSERT_FALSE(missing.ok());
  const auto tokens = await_recorded(text, config, missing.failure());
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  std::vector<std::int32_t> read(20);
  EXPECT_THAT((*tokens)->read(990, read).failure().message, HasSubstr("part_01.bin"));
  fs::rename(scratch_.path() / "away", folder());
  EXPECT_TRUE(is_read_at_last(**tokens, read));
}

}  // namespace
}  // namespace shoal::recorded_text_test
