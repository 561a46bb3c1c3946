// JournalStore: the supervisor's durable memory (P-1, P-2, P-4): the journal's entries, and the numbers never given
// twice.
//
// What append(), reserve() or begin_term() reported as done survives kill -9 and power loss: SQLite with one fsync per
// call (WAL, synchronous=FULL). One process owns a journal: it stays locked while open. Entries are stored as codec.h
// writes them, each with its SHA-256, under contiguous positions; anything else is kInvalidData on reading.
//
//   meta(key, value)   format, run; kernels, from the first replicas on
//   entries(position, branch, term, kind, sha256, entry)   counters(name, value)
//   snapshots(position, sha256, snapshot)   at most one, in place of the entries up to its position; from the first on
//                                           the format is 2: a version that knows of none refuses the file
//   branches(name, branch, step, changes)     those that a person began, for people: nothing here follows from them
//
// Not thread-safe. Errors: kIo (full disk, refused write), kInvalidData (damaged), kUsage (in use, or not there).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/error.h"

namespace shoal {

enum class IncarnationKind { kProcess, kActor };

// Numbers first .. first + count - 1, handed out to nobody else, ever.
struct IncarnationBlock {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

class JournalStore {
 public:
  static constexpr std::size_t kLoadedBytesMax = std::size_t{4} << 20;    // a letter may be twice as large
  static constexpr std::size_t kSnapshotBytesMax = std::size_t{3} << 20;  // both fit one

  virtual ~JournalStore() = default;

  [[nodiscard]] virtual RunId run() const = 0;
  [[nodiscard]] virtual JournalPosition last_position() const = 0;
  // Durable on return. Its position must be last_position() + 1 (ENSURE).
  [[nodiscard]] virtual Status append(const JournalEntry& entry) = 0;
  // The entries up to here are not kept: snapshot() says what they said. 0: all are.
  [[nodiscard]] virtual JournalPosition begins_after() const = 0;
  // There must be one (ENSURE).
  [[nodiscard]] virtual Result<JournalSnapshot> snapshot() = 0;
  // Keeps this in place of the snapshot before it and of the entries up to its position, which is after the former and
  // not after last_position() (ENSURE). Durable on return, and at no time neither is there. Errors besides the others:
  // kUsage (it is larger than a letter has room for beside entries, or cannot be read again): all entries stay.
  [[nodiscard]] virtual Status cut(const JournalSnapshot& snapshot) = 0;
  // Entries after a position, which is not before begins_after() (ENSURE), ascending: at most `count_max` of them, and
  // no more once they have kLoadedBytesMax as they are stored, so that they fit a letter (S-6); at least one where
  // there is one. A caller that wants the rest asks after them.
  [[nodiscard]] virtual Result<std::vector<JournalEntry>> load(JournalPosition after, std::size_t count_max) = 0;
  // Numbers start at 1. A crash may lose a block, never give it twice.
  [[nodiscard]] virtual Result<IncarnationBlock> reserve(IncarnationKind kind, std::uint64_t count) = 0;
  // The term of this start of the spawner: one more than the last.
  [[nodiscard]] virtual Result<Term> begin_term() = 0;
  // Returns the kernels that the run has trained with, as a fingerprint names them; empty: it has not, or a version
  // that did not record them wrote this.
  [[nodiscard]] virtual std::string kernels() const = 0;
  // Records these in place of others; empty: none count any more. Durable on return.
  [[nodiscard]] virtual Status keep_kernels(const std::string& kernels) = 0;
};

// Says whether something beside the journal tells of entries: then a journal without any was lost.
enum class Entries { kUnheardOf, kExpected };
// Opens the journal at the path; begins it where there is none yet, or where its maker died while making it. Errors:
// kInvalidData (something else is there, or what was there is lost: nothing is begun then), kUsage (another process has
// it open), kIo.
[[nodiscard]] Result<std::unique_ptr<JournalStore>> open_or_begin_journal(const std::filesystem::path& path, RunId run,
                                                                          Entries entries);
// Opens the journal of an earlier start, to read it. Errors: kUsage (there is none, or another process has it open).
[[nodiscard]] Result<std::unique_ptr<JournalStore>> open_journal(const std::filesystem::path& path);
// The highest branch of its entries; 0: it has none.
[[nodiscard]] Result<Branch> newest_branch(JournalStore& journal);

// A branch that a person began.
struct NamedBranch {
  std::string name;
  Branch branch;
  std::uint64_t step = 0;  // steps applied in the state that it goes on from
  std::string changes;
  friend bool operator==(const NamedBranch&, const NamedBranch&) = default;
};
// Writes it into the journal at the path, durably; one of that name is written over. Errors: as open_journal().
[[nodiscard]] Status note_branch(const std::filesystem::path& path, const NamedBranch& branch);
// Reads those that were written, in the order of their numbers. Errors: as open_journal().
[[nodiscard]] Result<std::vector<NamedBranch>> named_branches(const std::filesystem::path& path);
// A snapshot as a journal stores it. Errors: kUsage, as cut() has it.
[[nodiscard]] Result<std::vector<char>> bytes_to_keep(const JournalSnapshot& snapshot);
// The same contract without a disk: for the simulation and tests.
[[nodiscard]] std::unique_ptr<JournalStore> make_memory_journal(RunId run);

}  // namespace shoal
