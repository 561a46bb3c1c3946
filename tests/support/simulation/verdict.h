// Judges whether a simulated run was right: the invariants of DESIGN.md §10 read from its journal, its reports and its
// weights.
//
// The reference is one fake executor that computed every step by itself: a microbatch lost or doubled anywhere gives
// other weights.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/journal/view.h"
#include "tests/support/simulation/swarm.h"

namespace shoal {

// Returns the view after the whole journal.
[[nodiscard]] View view_of(const SimulatedSwarm& swarm);

// State digests after 0, 1, ... steps of the single-process run, and its final weights.
struct SimulationReference {
  std::vector<std::uint64_t> digests;
  std::vector<std::int64_t> weights;
};
[[nodiscard]] SimulationReference compute_reference(std::uint64_t steps, std::uint32_t microbatches,
                                                    const Quarantines& left_out = {});

// S-1 of one stage in one step: every microbatch of 0 .. planned-1 that is not left out is in its members' manifests
// once, and nothing else is. The commit check of the sync groups is another function: no mistake is in both.
[[nodiscard]] std::vector<std::string> exactly_once_violations(const std::vector<MemberManifest>& manifests,
                                                               std::uint32_t planned,
                                                               const std::set<MicrobatchId>& left_out);

// S-1, S-2 and S-4 in the journal: each step committed once, every stage's manifests holding every microbatch that is
// not quarantined exactly once and naming members of the view alone; tokens and loss of the whole step.
[[nodiscard]] std::vector<std::string> journal_violations(const SimulatedSwarm& swarm);
// S-3 and S-5: every replica's state after every step, and the saved weights, are the reference's.
[[nodiscard]] std::vector<std::string> weight_violations(const SimulatedSwarm& swarm);

// sync.mode = diloco: every round's shares are the tokens that the journal's manifests give its members since the last
// one, and with the lost ones they are the stage's; members report equal agreed states.
[[nodiscard]] std::vector<std::string> round_violations(const SimulatedSwarm& swarm);

// Compares the samples of stage 0 in each committed step with what the whole journal says: with `requeues`, lost ones
// again and the others after them; without, every microbatch its own. requeue_verdict.cpp.
[[nodiscard]] std::vector<std::string> sample_violations(const SimulatedSwarm& swarm, bool requeues);

// Returns a committed step's microbatches whose passes at two neighbouring stages are not one, as the executors saw it.
[[nodiscard]] std::set<MicrobatchId> mixed_passes(const SimulatedSwarm& swarm, const Commit& commit);

// No number of an actor, a step of a branch or a term is given twice (P-4).
[[nodiscard]] std::vector<std::string> number_violations(const SimulatedSwarm& swarm);
// metrics.jsonl has a line for each commit of the journal, in its order.
[[nodiscard]] std::vector<std::string> line_violations(const SimulatedSwarm& swarm);

// No actor ended by an ENSURE: a bug that its successor makes good is one, too.
[[nodiscard]] std::vector<std::string> bug_violations(const std::vector<RunEvent>& events);

// All of that, and that the run ended well (L-1). Empty: it was right. Otherwise it begins with how to see it again.
[[nodiscard]] std::string violations(const SimulatedSwarm& swarm);

// Describes a hanging or failing run: its last entries and events.
[[nodiscard]] std::string describe_run(const SimulatedSwarm& swarm);

}  // namespace shoal
