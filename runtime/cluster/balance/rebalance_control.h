// A control of experiments with moves (tests/bench/moves_churn): the rule of a run without one of its parts.
//
// Set by the environment variable SHOAL_REBALANCE_WITHOUT = hysteresis or cost, which the spawner's process inherits
// from the command that starts a run; only experiments set it. That command refuses other words.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/cluster/balance/rebalance.h"

namespace shoal {

enum class RebalanceControl : std::uint8_t { kNone, kWithoutHysteresis, kWithoutCost };

// Errors: kUsage with what was expected.
[[nodiscard]] Result<RebalanceControl> parse_rebalance_control(std::string_view text);
// kNone: the variable is not set, or empty.
[[nodiscard]] Result<RebalanceControl> rebalance_control_from_environment();

// Without hysteresis any gain is worth a move; without cost the gain alone chooses it.
[[nodiscard]] RebalanceRule without(RebalanceControl part, RebalanceRule rule);
[[nodiscard]] RebalanceRule rule_of_a_run(RebalanceControl control);

}  // namespace shoal
