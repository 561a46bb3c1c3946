// Question of who computes what, read off what is true of the run: what each stage has, and will have (balance/).
//
// Counts everybody where it will be: a joiner in the stage whose state it copies, a mover in the stage it moves to;
// whoever leaves counts nowhere. Pure.
#pragma once

#include <vector>

#include "runtime/cluster/balance/rebalance.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

// Returns the work of one microbatch in a stage, as shares of the model; paced devices take as long for every stage.
[[nodiscard]] double load_of(const Truth& truth, StageId stage);

// Index = stage. Nobody has served for any time here: when they began is known to whoever asks.
[[nodiscard]] std::vector<StageLoad> stage_balance(const Truth& truth);

}  // namespace shoal
