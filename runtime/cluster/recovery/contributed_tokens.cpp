// A total for each contribution, those of steps that do not count any more dropped.
#include "runtime/cluster/recovery/contributed_tokens.h"

namespace shoal {

void ContributedTokens::follow(const JournalEntry& entry, const View& view) {
  const std::uint64_t version = view.committed_steps();
  totals_.erase(totals_.upper_bound(version), totals_.end());
  const bool is_step = std::holds_alternative<Commit>(entry.body);
  if (!is_step || !are_taken_after(version)) return;
  totals_[version] = view.tokens_total();
  if (kKeptMax.is_exceeded_by(totals_.size())) totals_.erase(totals_.begin());
}

std::vector<ContributedTotal> ContributedTokens::totals() const {
  std::vector<ContributedTotal> totals;
  for (const auto& [version, tokens] : totals_) totals.push_back({version, tokens});
  return totals;
}

std::optional<std::uint64_t> ContributedTokens::after(std::uint64_t version) const {
  if (version == 0) return 0;
  const auto found = totals_.find(version);
  return found == totals_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace shoal
