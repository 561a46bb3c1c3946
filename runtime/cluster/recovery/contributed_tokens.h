// What a run had counted at the contributions of its rounds: the books of a round that is agreed long after them (P-33:
// tokens merged + tokens reported lost = tokens committed).
//
// Rounds may be far apart (H) and late by as much again, longer than a view remembers the totals of plain steps. Of a
// branch that was left only what its checkpoint has stays. Bounded (S-6): the newest kKeptMax contributions, more than
// the fragments of a run and the rounds it may have open together. Pure: a function of the journal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/bound.h"
#include "runtime/cluster/view.h"

namespace shoal {

class ContributedTokens {
 public:
  static inline const Bound kKeptMax{"journal.contributions_kept", 1024};

  // Whether a round takes its contributions after so many steps. Empty: there are no rounds.
  explicit ContributedTokens(std::function<bool(std::uint64_t)> takes_contributions)
      : takes_contributions_(std::move(takes_contributions)) {}

  [[nodiscard]] bool are_taken_after(std::uint64_t version) const {
    return takes_contributions_ && takes_contributions_(version);
  }
  // What is read first at a start, in place of the entries before it.
  void begin_at(const std::vector<ContributedTotal>& totals) {
    for (const auto& [version, tokens] : totals) totals_[version] = tokens;
  }
  [[nodiscard]] std::vector<ContributedTotal> totals() const;
  // In the order of the journal; the view has read the entry.
  void follow(const JournalEntry& entry, const View& view);
  // Counted in the first `version` steps. Nothing: they took no contributions, or that is forgotten.
  [[nodiscard]] std::optional<std::uint64_t> after(std::uint64_t version) const;

 private:
  std::function<bool(std::uint64_t)> takes_contributions_;
  std::map<std::uint64_t, std::uint64_t> totals_;
};

}  // namespace shoal
