// Question of what the next commit waits for, read off what is true of the run (commit_gate.h decides by it).
//
// A round becomes an entry at its own place in the order of steps, whenever its vote comes: after the commit of the
// step it is due at, before the next one (P-32). So everybody applies it to the same weights, and a slow round holds
// the next commit, not the work on it. The last commit of a run makes all rounds due that were contributed to: what is
// saved and evaluated at the end is what all agree on.
//
// A stage with fewer replicas than sync.quorum contributes to nothing: the commit that contributions follow waits for
// replicas to join, as they can between two steps and could not while a round is open. Two cases never
// wait for them: a run that is stopped, and the last replica of a stage, which leaves and must save its state. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/commit_gate.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

// Rounds that are due before the next commit and are no entry yet.
[[nodiscard]] std::vector<std::pair<StageId, RoundId>> open_rounds(const Truth& truth);

// Returns the steps committed at the fragment's contributions before these. Those of another schedule were contributed
// to its own rounds, up to where it ended.
[[nodiscard]] StepId contributed_before(const Truth& truth, const RoundId& round);

// Returns the replicas that the next commit waits for, in words; empty: it waits for none.
[[nodiscard]] std::string lacking_for_quorum(const Truth& truth);

[[nodiscard]] CommitDecision next_commit(const Truth& truth);

}  // namespace shoal
