// Facts that tests read off a whole journal, of a simulated run or of a real one.
//
// Entries are given in order, from the first one.
#pragma once

#include <cstddef>
#include <set>
#include <variant>
#include <vector>

#include "messages/journal.h"

namespace shoal {

// Microbatches in committed manifests of replicas that were added in mid-run.
[[nodiscard]] inline std::size_t contributed_by_joiners(const std::vector<JournalEntry>& entries) {
  std::set<Incarnation> joiners;
  std::size_t count = 0;
  for (const JournalEntry& entry : entries) {
    const auto* added = std::get_if<AddReplica>(&entry.body);
    if (added != nullptr && added->version > 0) joiners.insert(added->replica);
    const auto* commit = std::get_if<Commit>(&entry.body);
    if (commit == nullptr) continue;
    for (const StageCommit& stage : commit->stages) {
      for (const MemberManifest& manifest : stage.manifests) {
        if (joiners.contains(manifest.member)) count += manifest.entries.size();
      }
    }
  }
  return count;
}

}  // namespace shoal
