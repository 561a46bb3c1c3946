// A total for each contribution, those of steps that do not count any more dropped.
#include "runtime/journal/contributed_tokens.h"

#include <algorithm>
#include <iterator>

namespace shoal {

void ContributedTokens::begin_at(const JournalSnapshot& past) {
  for (const ContributedTotal& total : past.contributed) totals_[total.version] = {total.tokens, total.is_before_saved};
  // A snapshot of an earlier version does not say it of any; the view knows the newest checkpoints.
  for (const StepTotals& step : past.view.totals) {
    if (step.is_saved) keep_window_before(step.version);
  }
}

void ContributedTokens::follow(const JournalEntry& entry, const View& view) {
  const std::uint64_t version = view.committed_steps();
  totals_.erase(totals_.upper_bound(version), totals_.end());
  const auto* commit = std::get_if<Commit>(&entry.body);
  if (commit == nullptr) return;
  if (are_taken_after(version)) {
    totals_[version] = {view.tokens_total(), false};
    while (are_too_many(version)) forget_one(version);
  }
  // Keeps it also for a checkpoint that storage does not come to save: then a few are kept in vain.
  if (!commit->checkpoint_by.empty()) keep_window_before(version);
}

void ContributedTokens::keep_window_before(std::uint64_t saved) {
  const auto end = totals_.upper_bound(saved);
  std::for_each(window_before(saved), end, [](auto& total) { total.second.is_before_saved = true; });
}

ContributedTokens::Totals::iterator ContributedTokens::window_before(std::uint64_t version) {
  return totals_.lower_bound(version - std::min(version, window_));
}

// More than a window's contributions stay in any case, so that there is one to forget outside of the newest window.
bool ContributedTokens::are_too_many(std::uint64_t version) {
  const auto of_a_window = [&] {
    return static_cast<std::uint64_t>(std::distance(window_before(version), totals_.end()));
  };
  return kKeptMax.reached_if(totals_.size() > kKeptMax && totals_.size() > kWindowsKept * of_a_window());
}

void ContributedTokens::forget_one(std::uint64_t version) {
  const auto end = window_before(version);
  const auto plain =
      std::find_if(totals_.begin(), end, [](const auto& total) { return !total.second.is_before_saved; });
  totals_.erase(plain == end ? totals_.begin() : plain);
}

std::vector<ContributedTotal> ContributedTokens::totals() const {
  std::vector<ContributedTotal> totals;
  for (const auto& [version, total] : totals_) totals.push_back({version, total.tokens, total.is_before_saved});
  return totals;
}

std::optional<std::uint64_t> ContributedTokens::after(std::uint64_t version) const {
  if (version == 0) return 0;
  const auto found = totals_.find(version);
  return found == totals_.end() ? std::nullopt : std::optional(found->second.tokens);
}

}  // namespace shoal
