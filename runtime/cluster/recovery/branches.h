// Which branch of a run its next entries are of: one number for each history of steps (README: Branches).
//
// An interrupted roll-back has a number already, which its RemoveReplica entries have; an older checkpoint than the
// newest step is another history. A newer one was written by `train --single`, whose steps no journal has. Pure.
#pragma once

#include <algorithm>

#include "runtime/cluster/view.h"

namespace shoal {

class Branches {
 public:
  // Of any entry of the journal.
  void see(Branch branch) { highest_ = std::max(highest_, branch); }
  void go_on(const View& view) { current_ = view.branch(); }
  // All start from the state after so many steps.
  void begin(const View& view, std::uint64_t version, bool is_thrown_back) {
    current_ = next(view, version, is_thrown_back);
  }
  [[nodiscard]] Branch current() const { return current_; }

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
