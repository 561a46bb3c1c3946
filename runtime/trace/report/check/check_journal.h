// S-2, and S-4 as far as entries go: one entry for each position, one commit for each step of a branch, nothing of an
// older term or branch after a newer one. Gathers what other checks need to know of the whole journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/report/check/findings.h"
#include "runtime/trace/report/even_runs.h"
#include "runtime/trace/report/pieces/event_window.h"

namespace shoal {

// Goes through the entries of a run's journal in windows of positions: each with all records of its entries and of
// their parts, and the journal that they tell of. Errors: those of the pieces, and of `take`.
using TakeEntries = std::function<Status(const EventWindow& window, const TracedJournal& entries)>;
[[nodiscard]] Status walk_journal(const WindowedTrace& trace, const TakeEntries& take, CheckMemory& memory);

class JournalCheck {
 public:
  // The next entries, in the order of the journal.
  void take(const EventWindow& window, const TracedJournal& entries);

  [[nodiscard]] const TracedMembers& members() const { return members_; }
  // With how many steps applied each branch begins.
  [[nodiscard]] const std::map<Branch, std::uint64_t>& begins() const { return begins_; }
  // The last position that an entry is known of; nothing: none is.
  [[nodiscard]] std::optional<JournalPosition> last() const;
  [[nodiscard]] std::uint64_t commit_count() const { return commit_count_; }
  [[nodiscard]] std::size_t branch_count() const { return steps_.size(); }  // that have commits
  // How many things are kept of all entries so far.
  [[nodiscard]] std::size_t size() const;

  // Appends what was found, and the steps that no entry tells of: a branch began behind them.
  void report(std::vector<Violation>& out, std::vector<std::string>& notes);

 private:
  void compare_with_first(const RunTrace& trace, const TracedJournal& entries, const TracedEvent& copy,
                          const EventOrder& order);
  void begin_branch(const TracedEntry& added);
  void check_order(const TracedEntry& entry);
  void check_one_commit(const TracedEntry& commit);

  TracedMembers members_;
  std::map<Branch, std::uint64_t> begins_;
  std::map<Branch, EvenRuns> steps_;  // committed ones, with their positions
  std::uint64_t commit_count_ = 0;
  std::uint64_t told_end_ = 0;  // behind the last step that a commit tells of
  std::optional<TracedEntry> before_;
  std::vector<TimedViolation> copies_;
  std::vector<Violation> repeated_;
  std::vector<Violation> disordered_;
  std::vector<std::string> untold_;
};

}  // namespace shoal
