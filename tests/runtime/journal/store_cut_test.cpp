// A journal that is cut: a snapshot in place of its oldest entries, both or neither whatever happens (P-1), and damage
// to it is refused.
#include <csignal>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "messages/codec.h"
#include "runtime/base/ensure.h"
#include "tests/runtime/journal/journal_folder.h"

namespace shoal::store_cut_test {
namespace {

JournalSnapshot snapshot_at(std::uint64_t position) {
  JournalSnapshot snapshot;
  snapshot.view.position = JournalPosition{position};
  snapshot.view.committed_steps = position;
  snapshot.view.groups = {{StageId{0}, Incarnation{position + 7}}};
  snapshot.contributed = {{position / 2, 100}, {position, 200}};
  snapshot.checkpoints = {{position, {Incarnation{3}}}};
  return snapshot;
}

void append(JournalStore& journal, std::uint64_t last) {
  while (journal.last_position().value < last) {
    ASSERT_TRUE(journal.append(entry_at(journal.last_position().value + 1)));
  }
}

// A snapshot of its place and the entries after it, none missing.
void expect_whole(JournalStore& journal) {
  const JournalPosition after = journal.begins_after();
  if (after > JournalPosition{}) {
    const auto snapshot = journal.snapshot();
    ASSERT_TRUE(snapshot) << snapshot.failure().message;
    EXPECT_EQ(*snapshot, snapshot_at(after.value));
  }
  const auto entries = journal.load(after, 10'000);
  ASSERT_TRUE(entries) << entries.failure().message;
  ASSERT_EQ(entries->size(), journal.last_position().value - after.value);
  for (std::size_t at = 0; at < entries->size(); ++at) ASSERT_EQ((*entries)[at], entry_at(after.value + at + 1));
}

TEST(JournalCut, KeepsASnapshotInPlaceOfTheEntriesUpToIt) {
  const Folder folder;
  std::vector<std::unique_ptr<JournalStore>> journals;
  journals.push_back(make_memory_journal(RunId{1}));
  journals.push_back(std::move(*begin_journal(folder.journal(), RunId{1})));
  for (const auto& journal : journals) {
    append(*journal, 9);
    EXPECT_EQ(journal->begins_after(), JournalPosition{});
    ASSERT_TRUE(journal->cut(snapshot_at(4)));
    EXPECT_EQ(journal->begins_after(), JournalPosition{4});
    EXPECT_EQ(journal->last_position(), JournalPosition{9});
    expect_whole(*journal);
    EXPECT_EQ(journal->load(JournalPosition{6}, 2)->at(0), entry_at(7));
    EXPECT_THROW((void)journal->load(JournalPosition{3}, 2), Bug) << "nobody may take what is left for all";
    EXPECT_THROW((void)journal->cut(snapshot_at(4)), Bug);
    EXPECT_THROW((void)journal->cut(snapshot_at(10)), Bug);
    append(*journal, 12);
    ASSERT_TRUE(journal->cut(snapshot_at(12)));
    EXPECT_EQ(journal->last_position(), JournalPosition{12}) << "of which none is kept";
    EXPECT_EQ(*newest_branch(*journal), snapshot_at(12).highest_branch);
    expect_whole(*journal);
    append(*journal, 14);
    expect_whole(*journal);
  }
}

TEST(JournalCut, IsThereAfterReopening) {
  const Folder folder;
  for (std::uint64_t last = 5; last <= 30; last += 5) {
    auto journal = open_or_begin_journal(folder.journal(), RunId{1}, Entries::kUnheardOf);
    ASSERT_TRUE(journal) << journal.failure().message;
    expect_whole(**journal);
    append(**journal, last);
    ASSERT_TRUE((*journal)->cut(snapshot_at(last - 2)));
  }
  auto journal = open_journal(folder.journal());
  ASSERT_TRUE(journal) << journal.failure().message;
  EXPECT_EQ((*journal)->begins_after(), JournalPosition{28});
  EXPECT_EQ((*journal)->last_position(), JournalPosition{30});
  expect_whole(**journal);
}

// The machine may lose power anywhere between two statements, or in the middle of one.
TEST(JournalCut, ATornLogHasTheEntriesOrTheSnapshot) {
  const Folder folder;
  auto journal = begin_journal(folder.journal(), RunId{77});
  ASSERT_TRUE(journal);
  for (std::uint64_t last = 3; last <= 30; last += 3) {
    append(**journal, last);
    ASSERT_TRUE((*journal)->cut(snapshot_at(last - 1)));
  }
  const fs::path log = folder.journal().string() + "-wal";
  const std::uint64_t written = 4120 * 90;  // the log is filled ahead
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  std::set<std::uint64_t> seen;
  for (int tear = 0; tear < 60; ++tear) {
    const Folder torn;
    fs::copy_file(folder.journal(), torn.journal());
    fs::copy_file(log, torn.journal().string() + "-wal");
    fs::resize_file(torn.journal().string() + "-wal", random() % std::min(fs::file_size(log), written));
    auto opened = open_journal(torn.journal());
    ASSERT_TRUE(opened) << opened.failure().message << ", seed " << seed;
    expect_whole(**opened);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    seen.insert((*opened)->begins_after().value);
  }
  EXPECT_GT(seen.size(), 3U) << "a test that tears nothing";
}

TEST(JournalCut, OnAFullDiskLeavesAllEntriesWhereTheyAre) {
  const Folder folder;
  fill(folder.journal(), 40);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  {
    auto journal = open_journal(folder.journal());
    ASSERT_TRUE(journal);
    JournalSnapshot large = snapshot_at(30);
    for (std::uint64_t version = 0; version < 60'000; ++version) large.contributed.push_back({version + 100, 1});
    const rlimit tight{64 * 1024, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    const Status cut = (*journal)->cut(large);
    setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(cut);
    EXPECT_EQ((*journal)->begins_after(), JournalPosition{});
    expect_whole(**journal);
    append(**journal, 41);
    ASSERT_TRUE((*journal)->cut(snapshot_at(30))) << "later there is room";
    expect_whole(**journal);
  }
  std::signal(SIGXFSZ, handler);
}

TEST(JournalCut, WhatCouldNotBeReadAgainIsNotKept) {
  auto journal = make_memory_journal(RunId{1});
  append(*journal, 5);
  JournalSnapshot bad = snapshot_at(3);
  bad.contributed = {{7, 1}, {7, 1}};
  const Status cut = journal->cut(bad);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.failure().error, Error::kUsage);
  EXPECT_EQ(journal->begins_after(), JournalPosition{});
  JournalSnapshot large = snapshot_at(3);
  large.view.finished = std::string(JournalStore::kSnapshotBytesMax, 'x');
  EXPECT_FALSE(journal->cut(large));
  EXPECT_EQ(journal->load({}, 9)->size(), 5U);
}

void expect_refused(const fs::path& path, const std::string& word) {
  auto journal = open_journal(path);
  const auto snapshot = journal ? (*journal)->snapshot() : Result<JournalSnapshot>(journal.failure());
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.failure().error, Error::kInvalidData);
  EXPECT_NE(snapshot.failure().message.find(word), std::string::npos) << snapshot.failure().message;
}

TEST(JournalCut, DamageIsRefusedAndSaysWhere) {
  const std::vector<std::pair<const char*, const char*>> damages{
      {"UPDATE snapshots SET snapshot = zeroblob(length(snapshot))", "snapshot at entry 4 is damaged"},
      {"UPDATE snapshots SET sha256 = 'x'", "snapshot at entry 4 is damaged"},
      {"UPDATE snapshots SET position = 3", "some are missing"},
      {"UPDATE snapshots SET position = 6", "snapshot at entry 6 is of another entry"},
      {"DELETE FROM snapshots", "the snapshot in place of its oldest entries is missing"},
      {"DROP TABLE snapshots", "the snapshot in place of its oldest entries is missing"},
      {"DELETE FROM entries WHERE position = 5", "some are missing"},
      {"DELETE FROM entries WHERE position = 7", "some are missing"}};
  for (const auto& [damage, word] : damages) {
    const Folder folder;
    fill(folder.journal(), 9);
    ASSERT_TRUE((*open_journal(folder.journal()))->cut(snapshot_at(4)));
    execute(folder.journal(), damage);
    expect_refused(folder.journal(), word);
  }
}

// Written before there were snapshots: millions of entries, which go a part at a time.
TEST(JournalCut, OfALongJournalTakesNotAllEntriesAtOnce) {
  const Folder folder;
  fill(folder.journal(), 1);
  execute(folder.journal(),
          "WITH RECURSIVE more(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM more WHERE n < 5000)"
          " INSERT INTO entries SELECT n, branch, term, kind, sha256, entry FROM more, entries WHERE position = 1");
  {
    auto journal = open_journal(folder.journal());
    ASSERT_TRUE(journal) << journal.failure().message;
    ASSERT_TRUE((*journal)->cut(snapshot_at(5000)));
  }
  for (std::uint64_t position = 5001; position <= 5003; ++position) {
    auto journal = open_journal(folder.journal());
    ASSERT_TRUE(journal) << "what is still there is not looked at: " << journal.failure().message;
    EXPECT_EQ((*journal)->begins_after(), JournalPosition{position - 1});
    expect_whole(**journal);
    append(**journal, position);
    ASSERT_TRUE((*journal)->cut(snapshot_at(position)));
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(folder.journal().c_str(), &database), SQLITE_OK);
  const auto count = [](void* left, int, char** values, char**) {
    return *static_cast<int*>(left) = std::atoi(*values), 0;
  };
  int left = -1;
  EXPECT_EQ(sqlite3_exec(database, "SELECT count(*) FROM entries", count, &left, nullptr), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace shoal::store_cut_test
