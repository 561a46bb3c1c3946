// Compares who holds a microbatch at each stage with whose input and gradient the reports name.
#include "runtime/trace/metrics/approximated.h"

#include <map>
#include <utility>

namespace shoal {

std::set<MicrobatchId> approximated(const Commit& commit, const std::vector<ReplicaReport>& reports) {
  std::map<std::pair<StageId, MicrobatchId>, Incarnation> holders;
  for (const StageCommit& stage : commit.stages) {
    for (const MemberManifest& manifest : stage.manifests) {
      for (const ManifestEntry& entry : manifest.entries) holders[{stage.stage, entry.microbatch}] = manifest.member;
    }
  }
  const auto is_held_by = [&holders](StageId stage, MicrobatchId microbatch, Incarnation replica) {
    const auto holder = holders.find({stage, microbatch});
    return holder == holders.end() || holder->second == replica;  // no holder: there is no such stage
  };
  std::set<MicrobatchId> found;
  for (const ReplicaReport& report : reports) {
    for (const MicrobatchPass& pass : report.passes) {
      const bool is_first = report.stage.value == 0;
      const bool is_one = (is_first || is_held_by(StageId{report.stage.value - 1}, pass.microbatch, pass.input_from)) &&
                          is_held_by(StageId{report.stage.value + 1}, pass.microbatch, pass.gradient_from);
      if (!is_one) found.insert(pass.microbatch);
    }
  }
  return found;
}

}  // namespace shoal
