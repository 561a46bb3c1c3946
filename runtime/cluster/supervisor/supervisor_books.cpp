// What the core reads of every entry, as it comes or at a start, and what of it a snapshot keeps: each of these is a
// function of the journal. Whatever is added here is in a snapshot, or SnapshotDesk is told which entries it needs.
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

// The view has read it.
void SupervisorCore::keep_books(const JournalEntry& entry) {
  lost_samples_.follow(entry);
  contributed_tokens_.follow(entry, view());
  branches_.see(entry.branch);
  snapshots_.follow(entry);
  if (snapshots_.is_time(entry.position)) snapshots_.take(snapshot(), lost_samples_.needed_from());
}

JournalSnapshot SupervisorCore::snapshot() const {
  return {view().state(), branches_.highest(), contributed_tokens_.totals(), snapshots_.orders()};
}

void SupervisorCore::replay(const JournalSnapshot& past) {
  roster_.view = View(past.view);
  branches_.see(past.highest_branch);
  contributed_tokens_.begin_at(past);
  snapshots_.begin_at(past);
  for (const auto& [version, by] : past.checkpoints) {
    checkpoints_.order(version, by, CheckpointOrder::Rank::kLast, {});
  }
}

void SupervisorCore::replay(const JournalEntry& entry) {
  if (entry.branch > view().branch()) checkpoints_.forget_order();
  roster_.view.apply(entry);
  keep_books(entry);
  const auto* commit = std::get_if<Commit>(&entry.body);
  const bool saves = commit != nullptr && !commit->checkpoint_by.empty();
  if (saves) checkpoints_.order(view().committed_steps(), commit->checkpoint_by, CheckpointOrder::Rank::kLast, {});
}

}  // namespace shoal
