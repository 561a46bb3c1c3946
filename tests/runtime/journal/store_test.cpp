// The journal keeps what it reported as kept (P-2), gives no number twice (P-4), belongs to one process, and refuses
// damage instead of believing it.
#include "runtime/journal/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "messages/codec.h"
#include "runtime/base/ensure.h"
#include "tests/runtime/journal/journal_folder.h"

namespace shoal::store_test {
namespace {

TEST(Journal, ReturnsWhatWasAppendedAfterReopening) {
  const Folder folder;
  fill(folder.journal(), 5);
  auto journal = open_journal(folder.journal());
  ASSERT_TRUE(journal) << journal.failure().message;
  EXPECT_EQ((*journal)->run(), RunId{77});
  EXPECT_EQ((*journal)->last_position(), JournalPosition{5});
  const auto entries = (*journal)->load(JournalPosition{2}, 2);
  ASSERT_TRUE(entries) << entries.failure().message;
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0], entry_at(3));
  EXPECT_EQ((*entries)[1], entry_at(4));
}

TEST(Journal, SaysTheNewestBranchAndKeepsTheNamesOfThoseThatAPersonBegan) {
  const Folder folder;
  EXPECT_EQ(*newest_branch(**begin_journal(folder.journal(), RunId{77})), Branch{0});
  fill(folder.journal(), 5);
  EXPECT_EQ(*newest_branch(**open_journal(folder.journal())), Branch{2});
  EXPECT_EQ(*named_branches(folder.journal()), std::vector<NamedBranch>{});
  const NamedBranch late{"late", Branch{4}, 20, "optim.lr = 0.5 (was 1.0)"};
  const NamedBranch early{"early", Branch{3}, 10, ""};
  for (const NamedBranch& branch : {late, early, late}) ASSERT_TRUE(note_branch(folder.journal(), branch));
  EXPECT_EQ(*named_branches(folder.journal()), (std::vector<NamedBranch>{early, late}));
  auto journal = open_journal(folder.journal());
  ASSERT_TRUE(journal) << journal.failure().message;
  EXPECT_EQ((*journal)->last_position(), JournalPosition{5}) << "entries are as they were";
  EXPECT_EQ(note_branch(folder.journal(), early).failure().error, Error::kUsage) << "another process has it open";
}

TEST(Journal, TheMemoryJournalKeepsTheSameContract) {
  auto journal = make_memory_journal(RunId{3});
  ASSERT_TRUE(journal->append(entry_at(1)));
  ASSERT_TRUE(journal->append(entry_at(2)));
  EXPECT_THROW((void)journal->append(entry_at(2)), Bug);
  EXPECT_EQ(journal->load(JournalPosition{1}, 9)->at(0), entry_at(2));
  EXPECT_EQ(journal->begin_term()->value, 1U);
  EXPECT_EQ(journal->reserve(IncarnationKind::kActor, 10)->first, 1U);
  EXPECT_EQ(journal->reserve(IncarnationKind::kActor, 1)->first, 11U);
  EXPECT_EQ(journal->reserve(IncarnationKind::kProcess, 1)->first, 1U);
}

// Commits of many stages, microbatches and tensors: what is sent of them must fit a letter.
TEST(Journal, GivesNoMoreAtOnceThanALetterHolds) {
  const Folder folder;
  std::vector<std::unique_ptr<JournalStore>> journals;
  journals.push_back(std::move(begin_journal(folder.journal(), RunId{1}).value()));
  journals.push_back(make_memory_journal(RunId{1}));
  for (const auto& journal : journals) {
    constexpr std::uint64_t kCount = 60;
    std::size_t largest = 0;
    for (std::uint64_t position = 1; position <= kCount; ++position) {
      JournalEntry entry = entry_at(position);
      const std::size_t tensors = position == kCount ? 60'000 : 1500 * (position % 7);
      std::get<Commit>(entry.body).norms.assign(tensors, {std::string(80, 'h'), 0.5});
      largest = std::max(largest, encode(entry).size());
      ASSERT_TRUE(journal->append(entry).ok());
    }
    EXPECT_GT(largest, JournalStore::kLoadedBytesMax) << "one entry is too large for any bound";
    JournalPosition after;
    std::size_t letters = 0;
    for (; after.value < kCount; ++letters) {
      const auto entries = journal->load(after, 1000);
      ASSERT_TRUE(entries.ok() && !entries->empty());
      Letter letter{{}, {}, JournalEntries{RunId{1}, Term{1}, *entries}};
      EXPECT_LE(encode(letter).bytes.size(), kLetterBytesMax);
      EXPECT_EQ(entries->front().position.value, after.value + 1);
      after = entries->back().position;
    }
    EXPECT_GT(letters, 3U);
  }
}

TEST(Journal, SurvivesTheDeathOfItsProcessRightAfterAnAppend) {  // P-2
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    auto journal = begin_journal(folder.journal(), RunId{5});
    const bool kept = journal && (*journal)->append(entry_at(1)) && (*journal)->reserve(IncarnationKind::kActor, 100);
    if (!kept) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto journal = open_journal(folder.journal());
  ASSERT_TRUE(journal) << journal.failure().message;
  EXPECT_EQ((*journal)->last_position(), JournalPosition{1});
  EXPECT_EQ((*journal)->reserve(IncarnationKind::kActor, 1)->first, 101U);
}

// A spawner may die between the file and its tables.
TEST(Journal, IsBegunInAFileWhoseMakerDiedEarly) {
  for (const char* sql :
       {"", "PRAGMA journal_mode=WAL", "PRAGMA journal_mode=WAL; CREATE TABLE early(x); DROP TABLE early"}) {
    const Folder folder;
    std::ofstream(folder.journal()).close();
    execute(folder.journal(), sql);
    {
      auto journal = open_or_begin_journal(folder.journal(), RunId{7}, Entries::kUnheardOf);
      ASSERT_TRUE(journal) << sql << ": " << journal.failure().message;
      ASSERT_TRUE((*journal)->append(entry_at(1)));
    }
    const auto again = open_or_begin_journal(folder.journal(), RunId{8}, Entries::kExpected);
    ASSERT_TRUE(again) << again.failure().message;
    EXPECT_EQ((*again)->run(), RunId{7});
    EXPECT_EQ((*again)->last_position(), JournalPosition{1});
  }
}

TEST(Journal, ThatWasLostIsNotBegunAgain) {
  const auto refusal = [](const Folder& folder) -> std::string {
    const auto journal = open_or_begin_journal(folder.journal(), RunId{7}, Entries::kExpected);
    if (journal) return "begun";
    EXPECT_EQ(journal.failure().error, Error::kInvalidData);
    return journal.failure().message;
  };
  const Folder gone;
  EXPECT_NE(refusal(gone).find("it is gone"), std::string::npos) << refusal(gone);
  EXPECT_FALSE(std::filesystem::exists(gone.journal()));
  const Folder no_tables;
  std::ofstream(no_tables.journal()).close();
  execute(no_tables.journal(), "PRAGMA journal_mode=WAL; CREATE TABLE early(x); DROP TABLE early");
  EXPECT_NE(refusal(no_tables).find("nothing is in it"), std::string::npos) << refusal(no_tables);
  EXPECT_FALSE(open_journal(no_tables.journal())) << "it has no tables as before";
}

// A copy on a full disk: the entries may all be in the log, which opening would throw away.
TEST(Journal, ThatIsEmptyBesideItsLogIsNotOpened) {
  const Folder folder;
  std::ofstream(folder.journal()).close();
  const std::string log = folder.journal().string() + "-wal";
  std::ofstream(log) << std::string(4096, 'x');
  for (const Entries entries : {Entries::kUnheardOf, Entries::kExpected}) {
    const auto journal = open_or_begin_journal(folder.journal(), RunId{7}, entries);
    ASSERT_FALSE(journal);
    EXPECT_EQ(journal.failure().error, Error::kInvalidData);
    EXPECT_EQ(std::filesystem::file_size(log), 4096U);
  }
}

TEST(Journal, OtherFilesAreNotTakenForOneThatIsNotBegun) {
  const Folder folder;
  std::ofstream(folder.journal()) << std::string(8192, 'x');
  const auto journal = open_or_begin_journal(folder.journal(), RunId{7}, Entries::kUnheardOf);
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.failure().error, Error::kInvalidData);
}

TEST(Journal, GivesNoNumberTwice) {  // P-4
  const Folder folder;
  fill(folder.journal(), 0);
  std::uint64_t last = 0;
  for (std::uint64_t term = 1; term <= 3; ++term) {
    auto journal = open_journal(folder.journal());
    ASSERT_TRUE(journal);
    EXPECT_EQ((*journal)->begin_term()->value, term);
    const auto block = (*journal)->reserve(IncarnationKind::kProcess, 16);
    EXPECT_EQ(block->first, last + 1);
    last = block->first + block->count - 1;
  }
}

// A cut changes entries, and nothing else that is recorded.
TEST(Journal, RecordsTheKernelsOfItsRunUntilOthersCount) {
  const Folder folder;
  fill(folder.journal(), 5);
  EXPECT_EQ((*open_journal(folder.journal()))->kernels(), "") << "as in one of a version that recorded none";
  {
    auto journal = open_journal(folder.journal());
    ASSERT_TRUE((*journal)->keep_kernels("torch 2; gemm a"));
    EXPECT_EQ((*journal)->kernels(), "torch 2; gemm a");
    JournalSnapshot snapshot;
    snapshot.view.position = JournalPosition{3};
    ASSERT_TRUE((*journal)->cut(snapshot));
  }
  EXPECT_EQ((*open_journal(folder.journal()))->kernels(), "torch 2; gemm a");
  ASSERT_TRUE((*open_journal(folder.journal()))->keep_kernels(""));
  EXPECT_EQ((*open_journal(folder.journal()))->kernels(), "");
}

TEST(Journal, IsOwnedByOneOpener) {
  const Folder folder;
  auto owner = begin_journal(folder.journal(), RunId{1});
  ASSERT_TRUE(owner);
  const auto second = open_journal(folder.journal());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.failure().error, Error::kUsage);
  EXPECT_NE(second.failure().message.find("another process owns this run"), std::string::npos);
  owner->reset();
  EXPECT_TRUE(open_journal(folder.journal()));
}

TEST(Journal, AFullDiskIsAnErrorAndLosesNothingThatWasKept) {
  const Folder folder;
  fill(folder.journal(), 3);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  {
    auto journal = open_journal(folder.journal());
    ASSERT_TRUE(journal);
    ASSERT_TRUE((*journal)->append(entry_at(4)));
    const rlimit tight{64 * 1024, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    Status last = Done{};
    std::uint64_t position = 5;
    for (; position < 1000 && last; ++position) last = (*journal)->append(entry_at(position));
    setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(last);
    EXPECT_EQ(exit_code(last.failure().error), 3);
    EXPECT_EQ((*journal)->last_position().value, position - 2);
  }
  std::signal(SIGXFSZ, handler);
  auto journal = open_journal(folder.journal());
  ASSERT_TRUE(journal) << journal.failure().message;
  const auto entries = (*journal)->load({}, 1000);
  ASSERT_TRUE(entries) << entries.failure().message;
  EXPECT_EQ(entries->size(), (*journal)->last_position().value);
  EXPECT_GE(entries->size(), 4U);
}

TEST(Journal, AFolderThatCannotBeWrittenIsAnIoError) {
  const Folder folder;
  const auto journal = begin_journal(folder.journal().parent_path() / "absent" / "journal.db", RunId{1});
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.failure().error, Error::kIo);
}

// A machine that loses power in the middle of a write leaves a log that ends anywhere. Whatever is read is a beginning
// of what was written, and goes on.
TEST(Journal, ATornTailOfItsLogCostsTheLastEntriesAlone) {
  constexpr std::uint64_t kFrameBytes = 4120;  // a page in SQLite's log; an entry takes one or more
  const Folder folder;
  auto journal = begin_journal(folder.journal(), RunId{77});
  ASSERT_TRUE(journal);
  for (std::uint64_t position = 1; position <= 20; ++position) ASSERT_TRUE((*journal)->append(entry_at(position)));
  const fs::path log = folder.journal().string() + "-wal";
  const auto bytes = fs::file_size(log);
  ASSERT_GT(bytes, 0U);
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  std::uint64_t shortest = 20;
  for (int cut = 0; cut < 30; ++cut) {
    const Folder torn;
    fs::copy_file(folder.journal(), torn.journal());
    fs::copy_file(log, torn.journal().string() + "-wal");
    const std::uint64_t within = cut % 2 == 0 ? std::min(bytes, kFrameBytes * 20) : bytes;  // the log is filled ahead
    fs::resize_file(torn.journal().string() + "-wal", random() % within);
    auto opened = open_journal(torn.journal());
    ASSERT_TRUE(opened) << opened.failure().message << ", seed " << seed;
    const auto entries = (*opened)->load({}, 100);
    ASSERT_TRUE(entries) << entries.failure().message << ", seed " << seed;
    for (std::size_t at = 0; at < entries->size(); ++at) ASSERT_EQ((*entries)[at], entry_at(at + 1)) << "seed " << seed;
    shortest = std::min<std::uint64_t>(shortest, entries->size());
    EXPECT_TRUE((*opened)->append(entry_at(entries->size() + 1)));
  }
  EXPECT_LT(shortest, 20U) << "a test that tears nothing";
}

TEST(Journal, ATornFileIsRefused) {
  const Folder folder;
  fill(folder.journal(), 40);
  fs::resize_file(folder.journal(), fs::file_size(folder.journal()) / 2);
  auto journal = open_journal(folder.journal());
  if (journal) {
    const auto entries = (*journal)->load({}, 100);
    ASSERT_FALSE(entries);
    EXPECT_EQ(entries.failure().error, Error::kInvalidData);
  } else {
    EXPECT_EQ(journal.failure().error, Error::kInvalidData);
  }
}

TEST(Journal, AMissingEntryIsRefused) {  // P-1
  const Folder folder;
  fill(folder.journal(), 5);
  execute(folder.journal(), "DELETE FROM entries WHERE position = 3");
  const auto journal = open_journal(folder.journal());
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.failure().error, Error::kInvalidData);
}

TEST(Journal, AChangedByteIsRefused) {
  const Folder folder;
  fill(folder.journal(), 2);
  execute(folder.journal(), "UPDATE entries SET entry = zeroblob(length(entry)) WHERE position = 2");
  auto journal = open_journal(folder.journal());
  ASSERT_TRUE(journal);
  const auto entries = (*journal)->load({}, 9);
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.failure().error, Error::kInvalidData);
  EXPECT_NE(entries.failure().message.find("entry 2"), std::string::npos);
}

TEST(Journal, OfARunThatIsNoNumberIsRefused) {
  for (const char* run : {"99999999999999999999999", "18446744073709551616", "-1", "x", "", "7x", " 7"}) {
    const Folder folder;
    fill(folder.journal(), 1);
    execute(folder.journal(), ("UPDATE meta SET value='" + std::string(run) + "' WHERE key='run'").c_str());
    const auto journal = open_journal(folder.journal());
    ASSERT_FALSE(journal) << run;
    EXPECT_EQ(journal.failure().error, Error::kInvalidData);
    EXPECT_NE(journal.failure().message.find("run"), std::string::npos);
  }
  const Folder folder;
  fill(folder.journal(), 1);
  execute(folder.journal(), "UPDATE meta SET value='18446744073709551615' WHERE key='run'");
  EXPECT_EQ((*open_journal(folder.journal()))->run(), RunId{~std::uint64_t{0}}) << "the control";
}

TEST(Journal, AnotherFileIsNotAJournal) {
  const Folder folder;
  execute(folder.journal(), "CREATE TABLE entries(a)");
  const auto journal = open_journal(folder.journal());
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.failure().error, Error::kInvalidData);
}

}  // namespace
}  // namespace shoal::store_test
