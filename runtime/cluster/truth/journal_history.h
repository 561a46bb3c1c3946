// History that the supervisor reads off every entry beside the view, as it comes or at a start: branches, tokens, lost
// samples, snapshots. Each is a function of the journal. Whatever is added here is in a snapshot, or SnapshotSchedule
// is told which entries it needs.
//
// Pure. Bounded by each of its parts (S-6).
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/cluster/truth/supervisor_effects.h"
#include "runtime/journal/branches.h"
#include "runtime/journal/contributed_tokens.h"
#include "runtime/journal/lost_samples.h"
#include "runtime/journal/snapshot_schedule.h"

namespace shoal {

class JournalHistory {
 public:
  explicit JournalHistory(const SupervisorConfig& config);

  // Reads the snapshot first at a start, in place of the entries before it.
  void begin_at(const JournalSnapshot& past);
  // In the order of the journal; the view has read the entry.
  void follow(const JournalEntry& entry, const View& view);
  [[nodiscard]] JournalSnapshot snapshot(const View& view) const;
  // The newest snapshot that is due, once.
  [[nodiscard]] std::optional<JournalSnapshot> take_due() { return snapshots_.take_due(); }

  void go_on(const View& view) { branches_.go_on(view); }
  // All start from this state, as a new branch unless nothing is left behind by it.
  void begin_branch(const View& view, const StartPoint& start, bool is_thrown_back) {
    branches_.begin(view, {start.branch, start.version}, is_thrown_back);
  }
  [[nodiscard]] Branch branch() const { return branches_.current(); }

  // An entry is asked for in the answer that is being made.
  void ask() { is_entry_asked_ = true; }
  void begin_answer() { is_entry_asked_ = false; }
  [[nodiscard]] bool is_entry_asked() const { return is_entry_asked_; }

  // True when a round takes its contributions after so many steps.
  [[nodiscard]] bool are_taken_after(std::uint64_t version) const { return tokens_.are_taken_after(version); }
  // Tokens counted in the first `version` steps. Nothing: they took no contributions, or that is forgotten.
  [[nodiscard]] std::optional<std::uint64_t> tokens_after(std::uint64_t version) const {
    return tokens_.after(version);
  }
  // The entry, which is about to be the next one, says what of it is trained again, and where.
  void name_lost(CommitRound& entry, StepId since, const View& view) const { lost_.name_lost(entry, since, view); }

 private:
  Branches branches_;
  LostSamples lost_;
  ContributedTokens tokens_;
  SnapshotSchedule snapshots_;
  bool is_entry_asked_ = false;
};

}  // namespace shoal
