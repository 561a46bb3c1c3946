// A journal's file in a folder of its own, and entries to fill it with.
// For the tests of the journal: what is changed in the file behind its back is changed with SQL.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/journal/store.h"

namespace shoal {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "shoal-journal-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  fs::path journal() const { return path_ / "journal.db"; }

 private:
  fs::path path_;
};

inline JournalEntry entry_at(std::uint64_t position) {
  Commit commit;
  commit.step = StepId{position - 1};
  commit.gradient_norm = 0.1 + static_cast<double>(position);
  commit.norms = {{"h.0.attn.c_attn.weight", 1.0 / 3}};
  return {JournalPosition{position}, Branch{2}, Term{1}, commit};
}

inline void execute(const fs::path& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

inline Result<std::unique_ptr<JournalStore>> begin_journal(const fs::path& path, RunId run) {
  return open_or_begin_journal(path, run, Entries::kUnheardOf);
}

inline void fill(const fs::path& path, std::uint64_t count) {
  auto journal = begin_journal(path, RunId{77});
  ASSERT_TRUE(journal) << journal.failure().message;
  for (std::uint64_t position = 1; position <= count; ++position) ASSERT_TRUE((*journal)->append(entry_at(position)));
}

}  // namespace shoal
