// The journal in SQLite. Every change is one transaction; a statement that fails leaves the file as it was.
#include "runtime/journal/store.h"

#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "messages/codec.h"
#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/sha256.h"
#include "runtime/journal/sqlite/statement.h"

namespace shoal {

namespace {

using sqlite::Database;
using sqlite::Statement;

constexpr const char* kFormat = "shoal-journal-1";
constexpr const char* kFormatOfOneThatWasCut = "shoal-journal-2";

constexpr const char* kTables =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE entries(position INTEGER PRIMARY KEY, branch INTEGER NOT NULL, term INTEGER NOT NULL,"
    " kind TEXT NOT NULL, sha256 TEXT NOT NULL, entry BLOB NOT NULL);"
    "INSERT INTO counters VALUES('process', 0), ('actor', 0), ('term', 0);";

[[nodiscard]] Error error_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Error::kUsage;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR: return Error::kInvalidData;
    case SQLITE_NOMEM:
    case SQLITE_MISUSE: return Error::kInternal;
    default: return Error::kIo;
  }
}

[[nodiscard]] const char* advice(Error error) {
  switch (error) {
    case Error::kUsage: return "; another process owns this run: end it, or choose another directory";
    case Error::kInvalidData: return "; it is not a journal of this version, or it is damaged: restore it from a copy";
    case Error::kIo: return "; free space or mend the disk, then resume: what was committed before is recorded";
    default: return "";
  }
}

constexpr const char* kCut =
    "CREATE TABLE IF NOT EXISTS snapshots(position INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, snapshot BLOB NOT NULL);"
    "DELETE FROM snapshots;";

// Most entries that are removed at once; the rest is not read. A journal that was never cut may have millions.
constexpr std::uint64_t kRemovedAtOnceMax = 2048;

constexpr const char* kBranches =
    "CREATE TABLE IF NOT EXISTS branches(name TEXT PRIMARY KEY, branch INTEGER NOT NULL, step INTEGER NOT NULL,"
    " changes TEXT NOT NULL) WITHOUT ROWID;";

constexpr std::uintmax_t kRoomForLog = std::uintmax_t{64} << 20U;

[[nodiscard]] const char* kind_of(const JournalBody& body) {
  constexpr const char* kKinds[] = {"add", "remove", "appoint", "commit", "finish", "quarantine", "round"};
  static_assert(std::size(kKinds) == std::variant_size_v<JournalBody::Variant>);
  return kKinds[body.index()];
}

class SqliteJournal final : public JournalStore {
 public:
  SqliteJournal(Database database, std::filesystem::path path)
      : database_(std::move(database)), path_(std::move(path)) {}

  [[nodiscard]] RunId run() const override { return run_; }
  [[nodiscard]] JournalPosition last_position() const override { return last_; }
  [[nodiscard]] JournalPosition begins_after() const override { return begins_after_; }
  [[nodiscard]] std::string kernels() const override { return kernels_; }

  [[nodiscard]] Status lock();
  [[nodiscard]] Status make_tables(RunId run);
  [[nodiscard]] Status read_meta();
  [[nodiscard]] Result<bool> has_table(std::string_view name);
  void allocate_log();

  [[nodiscard]] Status append(const JournalEntry& entry) override;
  [[nodiscard]] Result<JournalSnapshot> snapshot() override;
  [[nodiscard]] Status cut(const JournalSnapshot& snapshot) override;
  [[nodiscard]] Result<std::vector<JournalEntry>> load(JournalPosition after, std::size_t count_max) override;
  [[nodiscard]] Result<IncarnationBlock> reserve(IncarnationKind kind, std::uint64_t count) override;
  [[nodiscard]] Result<Term> begin_term() override;
  [[nodiscard]] Status keep_kernels(const std::string& kernels) override;
  [[nodiscard]] Status note(const NamedBranch& branch);
  [[nodiscard]] Result<std::vector<NamedBranch>> named_branches();

 private:
  [[nodiscard]] Failure failure(int code, std::string_view doing) const;
  [[nodiscard]] Status execute(const std::string& sql, std::string_view doing);
  [[nodiscard]] Status run_once(Statement& statement, std::string_view doing);
  // Reads where the entries begin, which depends on the journal's format.
  [[nodiscard]] Status read_beginning(std::string_view format);
  [[nodiscard]] Status count_entries();
  [[nodiscard]] Status put_in_place(JournalPosition position, std::span<const char> snapshot);
  // Adds to a counter, durably; returns its new value.
  [[nodiscard]] Result<std::uint64_t> advance(std::string_view counter, std::uint64_t by);

  Database database_;
  std::filesystem::path path_;
  RunId run_;
  std::string kernels_;
  JournalPosition begins_after_;
  JournalPosition last_;
};

Failure SqliteJournal::failure(int code, std::string_view doing) const {
  const Error error = error_of(code);
  const std::string detail = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code);
  return fail(error, compose("journal ", path_.string(), ": cannot ", doing, ": ", detail, advice(error)));
}

Status SqliteJournal::execute(const std::string& sql, std::string_view doing) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(code, doing);
  return Done{};
}

Status SqliteJournal::run_once(Statement& statement, std::string_view doing) {
  const int code = statement.next();
  if (code != SQLITE_DONE) return failure(code, doing);
  return Done{};
}

// A journal is appended to and read once: its pages need no room (KiB) beyond those of one entry's way in. Pages of
// entries that were removed are not written over with zeros, but used again.
// The exclusive lock is taken by the first transaction and kept until the file is closed.
Status SqliteJournal::lock() {
  for (const char* sql : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
                          "PRAGMA cache_size=-256", "PRAGMA secure_delete=OFF", "BEGIN EXCLUSIVE", "COMMIT"}) {
    if (Status done = execute(sql, "take its lock"); !done) return done;
  }
  return Done{};
}

Result<bool> SqliteJournal::has_table(std::string_view name) {
  Statement statement(database_.get(), "SELECT count(*) FROM sqlite_schema WHERE name=?");
  statement.bind(name);
  const int code = statement.next();
  if (code != SQLITE_ROW) return failure(code, "be read");
  return statement.number(0) > 0;
}

Status SqliteJournal::make_tables(RunId run) {
  const std::string meta = compose("INSERT INTO meta VALUES('format', '", kFormat, "'), ('run', '", run.value, "');");
  return execute(compose("BEGIN;", kTables, meta, "COMMIT;"), "be created");
}

// Fills the write-ahead log once, up to where it is checkpointed and begun again: from then on an entry overwrites
// blocks that the file has. A sync of a file that grows writes the file system's journal too (measured: 2 ms, up to 6,
// where overwriting takes 0.2 ms), and every step waits for one. A disk without much room loses the speed, nothing
// else.
void SqliteJournal::allocate_log() {
  std::error_code unknown;
  const auto room = std::filesystem::space(path_.parent_path(), unknown);
  if (unknown || room.available < kRoomForLog) return;
  const bool is_full = execute("PRAGMA wal_autocheckpoint=256", "size its log").ok() &&
                       execute("CREATE TABLE IF NOT EXISTS filler(bytes BLOB)", "size its log").ok() &&
                       execute("INSERT INTO filler VALUES(zeroblob(1200000))", "size its log").ok();
  const bool is_dropped = execute("DROP TABLE IF EXISTS filler", "size its log").ok();
  if (is_full && is_dropped) static_cast<void>(execute("PRAGMA wal_checkpoint(RESTART)", "size its log"));
}

Status SqliteJournal::read_meta() {
  Statement statement(database_.get(),
                      "SELECT (SELECT value FROM meta WHERE key='format'), (SELECT value FROM meta WHERE key='run'),"
                      " (SELECT value FROM meta WHERE key='kernels')");
  const int code = statement.next();
  if (code != SQLITE_ROW) return failure(code, "be read");
  if (statement.text(0) != kFormat && statement.text(0) != kFormatOfOneThatWasCut) {
    return fail(Error::kInvalidData, compose("journal ", path_.string(), ": format '", statement.text(0), "', not '",
                                             kFormat, "'; resume it with the version that wrote it"));
  }
  const std::string run = statement.text(1);
  const auto parsed = std::from_chars(run.data(), run.data() + run.size(), run_.value);
  if (parsed.ec != std::errc() || parsed.ptr != run.data() + run.size()) {
    return fail(Error::kInvalidData,
                compose("journal ", path_.string(), ": its run is '", run, "', no number; restore it from a copy"));
  }
  kernels_ = statement.text(2);
  if (Status read = read_beginning(statement.text(0)); !read) return read;
  return count_entries();
}

Status SqliteJournal::read_beginning(std::string_view format) {
  if (format == kFormat) return Done{};
  const Result<bool> has_snapshots = has_table("snapshots");
  if (!has_snapshots) return has_snapshots.failure();
  if (*has_snapshots) {
    Statement statement(database_.get(), "SELECT max(position) FROM snapshots");
    const int code = statement.next();
    if (code != SQLITE_ROW) return failure(code, "be read");
    begins_after_ = JournalPosition{statement.number(0)};
  }
  if (begins_after_ > JournalPosition{}) return Done{};
  return fail(Error::kInvalidData, compose("journal ", path_.string(), ": the snapshot in place of its oldest entries ",
                                           "is missing; restore it from a copy"));
}

// Counts without the entries that a snapshot replaces and that are still there.
Status SqliteJournal::count_entries() {
  Statement statement(database_.get(), "SELECT max(position), count(*) FROM entries WHERE position > ?");
  statement.bind(begins_after_.value);
  const int code = statement.next();
  if (code != SQLITE_ROW) return failure(code, "be read");
  last_ = std::max(begins_after_, JournalPosition{statement.number(0)});
  if (last_.value - begins_after_.value == statement.number(1)) return Done{};
  const std::string after = begins_after_.value == 0 ? "" : compose(" after ", begins_after_);
  return fail(Error::kInvalidData, compose("journal ", path_.string(), ": ", statement.number(1), " entries", after,
                                           " up to ", last_, ", so some are missing; restore it from a copy"));
}

Status SqliteJournal::append(const JournalEntry& entry) {
  ENSURE(entry.position.value == last_.value + 1, "the journal has no gaps");
  const std::vector<char> bytes = encode(entry);
  Statement statement(database_.get(), "INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?)");
  statement.bind(entry.position.value).bind(entry.branch.value).bind(entry.term.value).bind(kind_of(entry.body));
  statement.bind(sha256_hex(std::string_view(bytes.data(), bytes.size()))).bind_bytes(bytes);
  if (Status done = run_once(statement, compose("record entry ", entry.position)); !done) return done;
  last_ = entry.position;
  return Done{};
}

Result<JournalSnapshot> SqliteJournal::snapshot() {
  ENSURE(begins_after_ > JournalPosition{}, "a journal that was cut has a snapshot");
  Statement statement(database_.get(), "SELECT sha256, snapshot FROM snapshots WHERE position = ?");
  statement.bind(begins_after_.value);
  const int code = statement.next();
  if (code != SQLITE_ROW) return failure(code == SQLITE_DONE ? SQLITE_CORRUPT : code, "be read");
  const std::span<const char> bytes = statement.bytes(1);
  const std::string where = compose("journal ", path_.string(), ": the snapshot at entry ", begins_after_);
  if (sha256_hex(std::string_view(bytes.data(), bytes.size())) != statement.text(0)) {
    return fail(Error::kInvalidData, where + " is damaged (checksum); restore it from a copy");
  }
  Decoded<JournalSnapshot> decoded = decode_journal_snapshot(bytes);
  if (!decoded.value) {
    return fail(Error::kInvalidData, compose(where, " is malformed (", decoded.malformed, "); restore it from a copy"));
  }
  if (decoded.value->view.position != begins_after_) {
    return fail(Error::kInvalidData, where + " is of another entry; restore it from a copy");
  }
  return std::move(*decoded.value);
}

Status SqliteJournal::cut(const JournalSnapshot& snapshot) {
  const JournalPosition position = snapshot.view.position;
  ENSURE(position > begins_after_ && position <= last_, "a snapshot takes the place of entries");
  const auto bytes = bytes_to_keep(snapshot);
  if (!bytes) return bytes.failure();
  const std::string doing = compose("keep a snapshot at entry ", position);
  Status done = execute("BEGIN", doing);
  if (!done) return done;
  done = put_in_place(position, *bytes);
  if (done) done = execute("COMMIT", doing);
  if (!done) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);  // some failures have done so
  if (done) begins_after_ = position;
  return done;
}

// Within a transaction.
Status SqliteJournal::put_in_place(JournalPosition position, std::span<const char> snapshot) {
  const std::string doing = compose("keep a snapshot at entry ", position);
  if (Status made = execute(kCut, doing); !made) return made;
  const std::string format = compose("UPDATE meta SET value='", kFormatOfOneThatWasCut, "' WHERE key='format'");
  if (Status marked = execute(format, doing); !marked) return marked;
  Statement put(database_.get(), "INSERT INTO snapshots VALUES(?, ?, ?)");
  put.bind(position.value).bind(sha256_hex(std::string_view(snapshot.data(), snapshot.size()))).bind_bytes(snapshot);
  if (Status done = run_once(put, doing); !done) return done;
  Statement remove(database_.get(),
                   "DELETE FROM entries WHERE position <= min(?, (SELECT min(position) FROM entries) + ?)");
  remove.bind(position.value).bind(kRemovedAtOnceMax - 1);
  return run_once(remove, doing);
}

Result<std::vector<JournalEntry>> SqliteJournal::load(JournalPosition after, std::size_t count_max) {
  ENSURE(after >= begins_after_, "what is before a snapshot is read as one");
  Statement statement(database_.get(),
                      "SELECT position, sha256, entry FROM entries WHERE position > ? ORDER BY position LIMIT ?");
  statement.bind(after.value).bind(std::uint64_t{count_max});
  std::vector<JournalEntry> entries;
  std::size_t loaded = 0;
  int code = statement.next();
  for (; code == SQLITE_ROW; code = statement.next()) {
    const std::span<const char> bytes = statement.bytes(2);
    loaded += bytes.size();
    if (loaded > kLoadedBytesMax && !entries.empty()) return entries;
    const std::string where = compose("journal ", path_.string(), ": entry ", statement.number(0));
    if (sha256_hex(std::string_view(bytes.data(), bytes.size())) != statement.text(1)) {
      return fail(Error::kInvalidData, where + " is damaged (checksum); restore it from a copy");
    }
    Decoded<JournalEntry> decoded = decode_journal_entry(bytes);
    if (!decoded.value)
      return fail(Error::kInvalidData,
                  compose(where, " is malformed (", decoded.malformed, "); restore it from a copy"));
    entries.push_back(std::move(*decoded.value));
    if (entries.back().position.value != after.value + entries.size()) {
      return fail(Error::kInvalidData, where + " is out of place; restore it from a copy");
    }
  }
  if (code != SQLITE_DONE) return failure(code, "be read");
  return entries;
}

Result<std::uint64_t> SqliteJournal::advance(std::string_view counter, std::uint64_t by) {
  const std::string doing = compose("count ", counter, " numbers");
  Statement change(database_.get(), "UPDATE counters SET value = value + ? WHERE name = ? RETURNING value");
  change.bind(by).bind(counter);
  int code = change.next();
  if (code != SQLITE_ROW) return failure(code == SQLITE_DONE ? SQLITE_CORRUPT : code, doing);
  const std::uint64_t value = change.number(0);
  code = change.next();  // the transaction ends with the statement
  if (code != SQLITE_DONE) return failure(code, doing);
  return value;
}

Result<IncarnationBlock> SqliteJournal::reserve(IncarnationKind kind, std::uint64_t count) {
  const auto last = advance(kind == IncarnationKind::kProcess ? "process" : "actor", count);
  if (!last) return last.failure();
  return IncarnationBlock{*last - count + 1, count};
}

Result<Term> SqliteJournal::begin_term() {
  const auto term = advance("term", 1);
  if (!term) return term.failure();
  return Term{*term};
}

Status SqliteJournal::keep_kernels(const std::string& kernels) {
  Statement put(database_.get(), "INSERT OR REPLACE INTO meta VALUES('kernels', ?)");
  put.bind(kernels);
  const Status done = run_once(put, "record the run's kernels");
  if (done) kernels_ = kernels;
  return done;
}

Status SqliteJournal::note(const NamedBranch& branch) {
  const std::string doing = compose("record the branch ", branch.name);
  if (Status made = execute(kBranches, doing); !made) return made;
  Statement put(database_.get(), "INSERT OR REPLACE INTO branches VALUES(?, ?, ?, ?)");
  put.bind(branch.name).bind(branch.branch.value).bind(branch.step).bind(branch.changes);
  return run_once(put, doing);
}

Result<std::vector<NamedBranch>> SqliteJournal::named_branches() {
  std::vector<NamedBranch> branches;
  const auto has_some = has_table("branches");
  if (!has_some) return has_some.failure();
  if (!*has_some) return branches;
  Statement statement(database_.get(), "SELECT name, branch, step, changes FROM branches ORDER BY branch");
  int code = statement.next();
  for (; code == SQLITE_ROW; code = statement.next()) {
    const Branch branch{static_cast<std::uint32_t>(statement.number(1))};
    branches.push_back({statement.text(0), branch, statement.number(2), statement.text(3)});
  }
  if (code != SQLITE_DONE) return failure(code, "be read");
  return branches;
}

[[nodiscard]] Result<std::unique_ptr<SqliteJournal>> open_file(const std::filesystem::path& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) {
    return fail(Error::kIo,
                compose("journal ", path.string(), ": ", sqlite3_errstr(code), "; is its folder writable?"));
  }
  sqlite3_extended_result_codes(raw, 1);
  auto journal = std::make_unique<SqliteJournal>(std::move(database), path);
  if (Status locked = journal->lock(); !locked) return locked.failure();
  return journal;
}

using OwnJournal = Result<std::unique_ptr<JournalStore>>;

[[nodiscard]] OwnJournal go_on(std::unique_ptr<SqliteJournal> journal) {
  if (Status read = journal->read_meta(); !read) return read.failure();
  journal->allocate_log();
  return std::unique_ptr<JournalStore>(std::move(journal));
}

// A file gets its first page before it has a log: one without a page beside a log was cut off, and opening it would
// throw the log away.
[[nodiscard]] bool is_cut_off(const std::filesystem::path& path) {
  std::error_code no_file;
  const auto size = std::filesystem::file_size(path, no_file);
  std::error_code no_log;
  const auto log_size = std::filesystem::file_size(path.string() + "-wal", no_log);
  return !no_log && log_size > 0 && (no_file || size == 0);
}

[[nodiscard]] Failure lost(const std::filesystem::path& path, std::string_view how) {
  return fail(Error::kInvalidData,
              compose("journal ", path.string(), ": ", how, "; restore it from a copy, with its -wal file"));
}

}  // namespace

Result<std::unique_ptr<JournalStore>> open_or_begin_journal(const std::filesystem::path& path, RunId run,
                                                            Entries entries) {
  if (is_cut_off(path)) return lost(path, "it is empty, and its -wal file is not");
  std::error_code ignored;
  const bool is_missing = !std::filesystem::exists(path, ignored);
  if (is_missing && entries == Entries::kExpected) return lost(path, "it is gone, and the run had one");
  auto journal = open_file(path, SQLITE_OPEN_READWRITE | (is_missing ? SQLITE_OPEN_CREATE : 0));
  if (!journal) return journal.failure();
  const Result<bool> is_begun = (*journal)->has_table("entries");
  if (!is_begun) return is_begun.failure();
  if (*is_begun) return go_on(std::move(*journal));
  if (entries == Entries::kExpected) return lost(path, "nothing is in it, and the run had entries");
  if (Status made = (*journal)->make_tables(run); !made) return made.failure();
  return go_on(std::move(*journal));
}

namespace {

Result<std::unique_ptr<SqliteJournal>> open_existing(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return open_file(path, SQLITE_OPEN_READWRITE);
  return fail(Error::kUsage, compose("journal ", path.string(), ": there is none; is this a run directory?"));
}

}  // namespace

Result<std::unique_ptr<JournalStore>> open_journal(const std::filesystem::path& path) {
  auto journal = open_existing(path);
  if (!journal) return journal.failure();
  return go_on(std::move(*journal));
}

Status note_branch(const std::filesystem::path& path, const NamedBranch& branch) {
  const auto journal = open_existing(path);
  if (!journal) return journal.failure();
  return (*journal)->note(branch);
}

Result<std::vector<NamedBranch>> named_branches(const std::filesystem::path& path) {
  const auto journal = open_existing(path);
  if (!journal) return journal.failure();
  return (*journal)->named_branches();
}

}  // namespace shoal
