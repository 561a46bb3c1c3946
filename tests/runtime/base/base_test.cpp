// The small things everything stands on: names, whole files, log lines, the clock of tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/config_keys.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "tests/support/manual_clock.h"

namespace shoal::base_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Nearest, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("steps", "stpes"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Nearest, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest_name("leyers", {"heads", "layers"}), "layers");
  EXPECT_EQ(nearest_name("xyzzy", {"heads", "layers"}), std::nullopt);
  EXPECT_EQ(nearest_name("a", {}), std::nullopt);
  EXPECT_EQ(did_you_mean("trian", {"train", "spawner"}), "; did you mean 'train'?");
}

TEST(File, ReplacesWholeFilesAndKeepsSecretsToTheirOwner) {
  const std::string path = testing::TempDir() + "replaced";
  ASSERT_TRUE(replace_file(path, "old").ok());
  ASSERT_TRUE(replace_file(path, std::string("new\0text", 8), FileAccess::kOwnerOnly).ok());
  EXPECT_EQ(*read_file(path), std::string("new\0text", 8));
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(File, IsReadInPiecesAlsoWhatIsAddedMeanwhile) {
  const std::string path = testing::TempDir() + "shoal_pieces";
  ASSERT_TRUE(replace_file(path, "0123456789").ok());
  const auto file = open_input(path);
  EXPECT_EQ(file->size, 10U);
  const auto piece = [&](std::uint64_t at, std::size_t count) {
    std::string text(count, '?');
    text.resize(file->read_at(at, text).value());
    return text;
  };
  EXPECT_EQ(piece(3, 4), "3456");
  EXPECT_EQ(piece(8, 4), "89");
  EXPECT_EQ(piece(20, 4), "");
  std::ofstream(path, std::ios::app) << "abc";
  EXPECT_EQ(piece(8, 100), "89abc");
  EXPECT_EQ(file->size, 10U);
  EXPECT_EQ(open_input("/nowhere/at/all").failure().error, Error::kIo);
}

TEST(File, IsReplacedByPiecesOnceAllAreThere) {
  const std::string path = testing::TempDir() + "shoal_replaced_in_pieces";
  ASSERT_TRUE(replace_file(path, "old").ok());
  auto file = FileReplacement::begin(path);
  ASSERT_TRUE(file.ok()) << file.failure().message;
  ASSERT_TRUE(file->append("ab").ok());
  auto moved = std::move(*file);
  std::vector<std::uint64_t> told;
  const Written tell = [&told](std::uint64_t bytes) { told.push_back(bytes); };
  std::string piece(kPieceWritten + 5, 'c');
  piece.back() = 'z';
  ASSERT_TRUE(moved.append_durably(piece, tell).ok());
  EXPECT_EQ(told, (std::vector<std::uint64_t>{kPieceWritten + 2, kPieceWritten + 7})) << "bytes of the file";
  EXPECT_EQ(moved.byte_count(), piece.size() + 2);
  EXPECT_EQ(read_file(path).value(), "old") << "it is not whole";
  ASSERT_TRUE(moved.finish().ok());
  EXPECT_TRUE(read_file(path).value() == "ab" + piece);
  std::filesystem::remove(path);
}

TEST(File, ThatWasNotFinishedLeavesTheOldOneAndNothingElse) {
  const std::filesystem::path folder = testing::TempDir() + "shoal_unfinished_file";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "file").string();
  ASSERT_TRUE(replace_file(path, "old").ok());
  const auto entries = [&folder] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  {
    auto file = FileReplacement::begin(path);
    ASSERT_TRUE(file.ok() && file->append("new").ok());
    EXPECT_EQ(entries(), 2) << "the control: it is there under another name";
  }
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(read_file(path).value(), "old");
  EXPECT_EQ(FileReplacement::begin("/nowhere/at/all").failure().error, Error::kIo);
  std::filesystem::remove_all(folder);
}

TEST(File, AnErrorNamesThePathAndTheReason) {
  const auto text = read_file("/nowhere/at/all");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.failure().error, Error::kIo);
  EXPECT_THAT(text.failure().message, HasSubstr("/nowhere/at/all"));
  EXPECT_THAT(text.failure().message, HasSubstr("No such file"));
  EXPECT_FALSE(replace_file("/nowhere/at/all", "x").ok());
}

TEST(Log, WritesLinesOfItsLevelAndAboveFromManyThreads) {
  const std::string path = testing::TempDir() + "log.txt";
  std::filesystem::remove(path);
  ASSERT_TRUE(open_log({path, LogLevel::kInfo, false}).ok());
  log_debug("stage/0/0", "quiet");
  log_warn("stage/1/0", "peer ", 3, " is slow {}");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      for (int j = 0; j < 50; ++j) log_info("router", "thread ", i, " line ", j);
    });
  for (auto& thread : threads) thread.join();
  flush_log();
  const std::string text = *read_file(path);
  EXPECT_THAT(text, HasSubstr("warning stage/1/0: peer 3 is slow {}\n"));
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 201);
  EXPECT_FALSE(open_log({"/proc/nowhere/log.txt", LogLevel::kInfo, false}).ok());
}

// The watchdog of a process that ends slowly may speak after main has returned.
TEST(Log, TakesLinesWhileStaticObjectsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [] {
    ::mallopt(M_PERTURB, 0x5a);                                 // overwrites freed memory
    std::atexit([] { log_warn("process", "the last word"); });  // after whatever the next line makes
    flush_log();
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "the last word");
}

TEST(Log, EveryLevelOfTheConfigurationHasItsName) {
  const auto* key = find_config_key("log.level");
  std::set<LogLevel> levels;
  for (const auto& name : key->choices) levels.insert(log_level_named(name));
  EXPECT_EQ(levels.size(), key->choices.size());
  EXPECT_THROW((void)log_level_named("loud"), Bug);
}

TEST(ManualClock, MovesOnlyByHandAndItsWallAlone) {
  ManualClock clock;
  const Instant start = clock.now();
  clock.jump_wall(std::chrono::hours(5));
  EXPECT_EQ(clock.now(), start);
  clock.advance(std::chrono::milliseconds(3));
  EXPECT_EQ(milliseconds(clock.now() - start), 3.0);
}

}  // namespace
}  // namespace shoal::base_test
