// Finds the microbatches of a step that are no exact gradient: their stages computed different passes over them.
//
// A pass runs through one replica per stage: each computes on the activation of the one before and goes back with the
// gradient of the one after. Where a replica is replaced in the middle of a step, its successor computes again what the
// others keep (P-7, P-17). With equal weights that is the same gradient; with rounds (sync.mode = diloco) it is not.
#pragma once

#include <set>
#include <vector>

#include "messages/journal.h"
#include "messages/metrics.h"

namespace shoal {

// reports: of the members that the commit's manifests name. A member without one says nothing: what its neighbours say
// about it counts.
[[nodiscard]] std::set<MicrobatchId> approximated(const Commit& commit, const std::vector<ReplicaReport>& reports);

}  // namespace shoal
