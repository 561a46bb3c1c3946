// Chooses the branch of a run's next entries: one number for each history of steps
// (runtime/cluster/README.md, Branches).
//
// An interrupted roll-back has a number already, which its RemoveReplica entries have; a checkpoint older than the
// newest step is another history. A newer one was written by `train --single`, whose steps no journal has, and which
// begins a branch where it goes back (branch_going_on()). Pure.
#pragma once

#include <algorithm>
#include <compare>

#include "runtime/journal/view.h"

namespace shoal {

// Says how far a history of steps has come: a later branch is further, whatever its steps.
struct Reached {
  Branch branch;
  std::uint64_t steps = 0;  // applied
  friend auto operator<=>(const Reached&, const Reached&) = default;
};

// Returns the branch of what is trained from a saved state on. `told`: the steps that metrics.jsonl records. If
// they go beyond that state, they are another history, and its steps must not be recorded again on the same branch.
[[nodiscard]] inline Branch branch_going_on(const Reached& saved, const Reached& told) {
  const bool is_unwritten = told.branch < saved.branch || (told.branch == saved.branch && told.steps <= saved.steps);
  return is_unwritten ? saved.branch : Branch{told.branch.value + 1};
}

class Branches {
 public:
  // Takes note of the branch of any entry of the journal.
  void see(Branch branch) { highest_ = std::max(highest_, branch); }
  void go_on(const View& view) { current_ = view.branch(); }
  // All start from the state after so many steps; its branch is that of branch_going_on(), or 0.
  void begin(const View& view, const Reached& start, bool is_thrown_back) {
    current_ = std::max(start.branch, next(view, start.steps, is_thrown_back));
  }
  [[nodiscard]] Branch current() const { return current_; }
  // The highest branch of all entries so far.
  [[nodiscard]] Branch highest() const { return highest_; }

 private:
  [[nodiscard]] Branch next(const View& view, std::uint64_t version, bool is_thrown_back) const {
    if (view.position().value == 0) return Branch{};
    if (highest_ > view.branch()) return highest_;
    const bool is_other_history = is_thrown_back || version != view.committed_steps();
    return Branch{view.branch().value + (is_other_history ? 1U : 0U)};
  }

  Branch current_;
  Branch highest_;
};

}  // namespace shoal
