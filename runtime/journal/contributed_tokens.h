// Tokens that a run had counted at the contributions of its rounds: accounts for a round that is agreed long after them
// (P-33: tokens merged + tokens reported lost = tokens committed).
//
// A round asks for the total at its own contributions and at those of the fragment's round before it: both at most one
// window before the step where it is agreed.
//
//   steps    ......|-- window --|saved.....................|-- window --|newest
//   kept           all, for a roll-back to it       may go, the oldest first      all, for the rounds under way
//
// A branch that begins at a checkpoint so finds what its first rounds ask for, however many contributions it goes back
// over. A branch that was left keeps only what its checkpoint has. Bounded (S-6): kKeptMax contributions in all,
// or, where many fragments take turns, those of kWindowsKept windows; where those of checkpoints alone are more, the
// oldest of them go, and what a roll-back to so old a checkpoint loses in its first rounds is counted as nothing. The
// newest window always stays. Pure: a function of the journal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/bound.h"
#include "runtime/journal/view.h"

namespace shoal {

class ContributedTokens {
 public:
  static inline const Bound kKeptMax{"journal.contributions_kept", 1024};
  static constexpr std::uint64_t kWindowsKept = 4;

  // takes_contributions: whether a round takes its contributions after so many steps; empty: there are no rounds.
  // window: steps that a round looks back at, at most.
  ContributedTokens(std::function<bool(std::uint64_t)> takes_contributions, std::uint64_t window)
      : takes_contributions_(std::move(takes_contributions)), window_(window) {}

  [[nodiscard]] bool are_taken_after(std::uint64_t version) const {
    return takes_contributions_ && takes_contributions_(version);
  }
  // Starts from a snapshot, which is read in place of the entries before it.
  void begin_at(const JournalSnapshot& past);
  [[nodiscard]] std::vector<ContributedTotal> totals() const;
  // Follows the journal in its order; the view has read the entry.
  void follow(const JournalEntry& entry, const View& view);
  // Counted in the first `version` steps. Nothing: they took no contributions, or that is forgotten.
  [[nodiscard]] std::optional<std::uint64_t> after(std::uint64_t version) const;

 private:
  struct Total {
    std::uint64_t tokens = 0;
    bool is_before_saved = false;  // in the window before a checkpoint
  };
  using Totals = std::map<std::uint64_t, Total>;  // by version

  // The oldest that a round which is agreed at this version or later may ask for.
  [[nodiscard]] Totals::iterator window_before(std::uint64_t version);
  [[nodiscard]] bool are_too_many(std::uint64_t version);
  void forget_one(std::uint64_t version);
  // The state after so many steps is in a checkpoint: what its first rounds ask for stays.
  void keep_window_before(std::uint64_t saved);

  std::function<bool(std::uint64_t)> takes_contributions_;
  std::uint64_t window_;
  Totals totals_;
};

}  // namespace shoal
