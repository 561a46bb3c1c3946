// A journal's file with any bytes in it, or with any contents in one of its rows.
//
//   input = kind:u8  rest        kind mod 3: the bytes of the file, without a -wal file; the rest in a row of a good
//                                journal: as an entry, or as the snapshot in place of others, with its right checksum
//   entry, snapshot = be64 position  u8 size of run  run  bytes
//
// A damaged journal is refused with a sentence, at the start or at the entry in question; one that opens goes on.
#include "runtime/journal/store.h"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "messages/codec.h"
#include "runtime/base/sha256.h"
#include "tests/fuzz/harness.h"
#include "tests/messages/samples.h"

namespace shoal::fuzz {
namespace journal {
namespace {

enum Kind : std::uint8_t { kFile, kEntry, kSnapshot, kKinds };
constexpr std::uint64_t kEntries = 8;
constexpr std::uint64_t kCutAt = 5;

std::filesystem::path journal_path() { return scratch_path() + "/journal.db"; }

void remove_files() {
  std::error_code ignored;
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::remove(journal_path().string() + ending, ignored);
  }
}

// True when all of it can be read.
bool reads_whole(JournalStore& journal) {
  JournalPosition at = journal.begins_after();
  if (at > JournalPosition{} && !journal.snapshot()) return false;
  while (at < journal.last_position()) {
    const auto entries = journal.load(at, 3);
    if (!entries) return false;
    ENSURE(!entries->empty(), "entries that are counted are there");
    at = entries->back().position;
  }
  return true;
}

// Does what a spawner does that starts with this journal.
void go_on(JournalStore& journal) {
  (void)journal.begin_term();
  (void)journal.reserve(IncarnationKind::kActor, 100);
  JournalEntry next;
  next.position.value = journal.last_position().value + 1;
  next.body = FinishRun{"it is over"};
  if (!journal.append(next)) return;
  const auto read = journal.load(JournalPosition{next.position.value - 1}, 1);
  // A damaged file may have a table that does not keep what it is given; then nothing is read, and never another entry.
  ENSURE(!read.ok() || read->empty() || read->front() == next, "what is read is what was appended");
}

bool accepts_journal() {
  const auto journal = open_journal(journal_path());
  if (!journal) {
    ENSURE(!journal.failure().message.empty(), "a refusal says why");
    return false;
  }
  const bool is_whole = reads_whole(**journal);
  if (is_whole) go_on(**journal);
  return is_whole;
}

std::string bytes_of_file() {
  std::ifstream file(journal_path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A small file of the same contents: a journal keeps free pages.
std::string small_file() {
  sqlite3* database = nullptr;
  ENSURE(sqlite3_open(journal_path().c_str(), &database) == SQLITE_OK, "the journal is an SQLite file");
  const char* shrink = "PRAGMA journal_mode=DELETE; VACUUM";
  ENSURE(sqlite3_exec(database, shrink, nullptr, nullptr, nullptr) == SQLITE_OK, sqlite3_errmsg(database));
  sqlite3_close(database);
  return bytes_of_file();
}

std::string journal_file(std::uint64_t entries, std::uint64_t cut_at) {
  std::mt19937_64 random(3);
  remove_files();
  auto journal = open_or_begin_journal(journal_path(), RunId{77}, Entries::kUnheardOf);
  std::vector<JournalEntry> kinds = samples::every_entry(random);
  for (std::uint64_t position = 1; position <= entries; ++position) {
    JournalEntry entry = kinds[position % kinds.size()];
    entry.position = JournalPosition{position};
    ENSURE((*journal)->append(entry).ok(), "a new journal takes entries");
  }
  if (cut_at > 0) {
    JournalSnapshot snapshot;
    snapshot.view.position = JournalPosition{cut_at};
    ENSURE((*journal)->cut(snapshot).ok(), "a journal can be cut");
  }
  journal->reset();
  return small_file();
}

// The file of a good journal, whose last entry and whose snapshot are at the positions of the constants.
const std::string& good_file() {
  static const std::string kFileBytes = journal_file(kEntries, kCutAt);
  return kFileBytes;
}

void put_into_row(Kind kind, std::string_view rest) {
  Cursor cursor(rest);
  const auto position = static_cast<sqlite3_int64>(cursor.number(8));
  const std::string_view run = cursor.bytes(cursor.byte());
  const std::string_view bytes = cursor.rest();
  sqlite3* database = nullptr;
  ENSURE(sqlite3_open(journal_path().c_str(), &database) == SQLITE_OK, "the journal is an SQLite file");
  const auto change = [database](const char* sql, sqlite3_int64 number, std::string_view text, std::string_view blob) {
    sqlite3_stmt* statement = nullptr;
    ENSURE(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK, sqlite3_errmsg(database));
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_text(statement, 2, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    sqlite3_bind_blob(statement, 3, blob.data(), static_cast<int>(blob.size()), SQLITE_STATIC);
    (void)sqlite3_step(statement);  // a position may be taken
    sqlite3_finalize(statement);
  };
  change("UPDATE meta SET value=?2 WHERE key='run' AND ?1=?1 AND ?3=?3", 0, run, run);
  const bool is_entry = kind == kEntry;
  change(is_entry ? "UPDATE entries SET position=?1, sha256=?2, entry=?3 WHERE position=8"
                  : "UPDATE snapshots SET position=?1, sha256=?2, snapshot=?3",
         position, sha256_hex(bytes), bytes);
  sqlite3_close(database);
}

bool accepts(std::string_view input) {
  Cursor cursor(input);
  const auto kind = static_cast<Kind>(cursor.byte() % kKinds);
  const std::string_view file = kind == kFile ? cursor.rest() : good_file();
  remove_files();
  write_bytes(journal_path().string(), file);
  if (kind != kFile) put_into_row(kind, cursor.rest());
  return accepts_journal();
}

std::string row_of(Kind kind, std::uint64_t position, const std::vector<char>& bytes) {
  std::string input(1, static_cast<char>(kind));
  append_number(input, position, 8);
  return (input +=
          "\x02"
          "77")
      .append(bytes.data(), bytes.size());
}

std::vector<std::string> samples() {
  std::mt19937_64 random(4);
  std::vector<std::string> inputs;
  for (const auto& [entries, cut_at] : {std::pair(0, 0), std::pair(8, 0), std::pair(8, 5)}) {
    inputs.push_back(std::string(1, kFile) + journal_file(entries, cut_at));
  }
  for (JournalEntry& entry : samples::every_entry(random)) {
    entry.position = JournalPosition{kEntries};
    inputs.push_back(row_of(kEntry, kEntries, encode(entry)));
  }
  JournalSnapshot snapshot;
  snapshot.view.position = JournalPosition{kCutAt};
  inputs.push_back(row_of(kSnapshot, kCutAt, encode(snapshot)));
  return inputs;
}

}  // namespace
}  // namespace journal

const Harness kJournal{"journal", journal::samples, journal::accepts};

}  // namespace shoal::fuzz
