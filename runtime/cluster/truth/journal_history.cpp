// Reads each entry once, in the order in which its parts need each other.
#include "runtime/cluster/truth/journal_history.h"

namespace shoal {

namespace {

// Says if a round takes its contributions after so many steps.
[[nodiscard]] std::function<bool(std::uint64_t)> contributions_of(const SupervisorConfig& config) {
  if (!config.rounds) return {};
  return [rounds = *config.rounds](std::uint64_t version) { return !rounds.contributions_at(version).empty(); };
}

// Steps between the contributions to a round and the commit where the fragment's next one is agreed, at most: that is
// due at the contributions to the one after it.
[[nodiscard]] std::uint64_t window_of(const SupervisorConfig& config) {
  if (!config.rounds) return 0;
  return 2 * (config.rounds->contribution_version(RoundId{0, 2}) - config.rounds->contribution_version(RoundId{0, 1}));
}

}  // namespace

JournalHistory::JournalHistory(const SupervisorConfig& config)
    : lost_(config.microbatches, config.requeue_window),
      tokens_(contributions_of(config), window_of(config)),
      snapshots_(config.snapshot_every) {}

void JournalHistory::begin_at(const JournalSnapshot& past) {
  branches_.see(past.highest_branch);
  tokens_.begin_at(past);
  snapshots_.begin_at(past);
}

void JournalHistory::follow(const JournalEntry& entry, const View& view) {
  lost_.follow(entry);
  tokens_.follow(entry, view);
  branches_.see(entry.branch);
  snapshots_.follow(entry);
  if (snapshots_.is_time(entry.position)) snapshots_.take(snapshot(view), lost_.needed_from());
}

JournalSnapshot JournalHistory::snapshot(const View& view) const {
  return {view.state(), branches_.highest(), tokens_.totals(), snapshots_.orders()};
}

}  // namespace shoal
