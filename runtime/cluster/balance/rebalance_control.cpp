// Words to a rule.
#include "runtime/cluster/balance/rebalance_control.h"

#include <cstdlib>
#include <limits>

#include "runtime/base/compose.h"

namespace shoal {

Result<RebalanceControl> parse_rebalance_control(std::string_view text) {
  if (text == "hysteresis") return RebalanceControl::kWithoutHysteresis;
  if (text == "cost") return RebalanceControl::kWithoutCost;
  return fail(Error::kUsage, compose("SHOAL_REBALANCE_WITHOUT '", text, "': expected hysteresis or cost"));
}

Result<RebalanceControl> rebalance_control_from_environment() {
  const char* const text = std::getenv("SHOAL_REBALANCE_WITHOUT");
  if (text == nullptr || *text == '\0') return RebalanceControl::kNone;
  return parse_rebalance_control(text);
}

RebalanceRule without(RebalanceControl part, RebalanceRule rule) {
  if (part == RebalanceControl::kWithoutHysteresis) rule.least_gain = 0;
  if (part == RebalanceControl::kWithoutCost) rule.horizon_s = std::numeric_limits<double>::infinity();
  return rule;
}

RebalanceRule rule_of_a_run(RebalanceControl control) {
  RebalanceRule rule;
  rule.least_gain = kLeastGainOfARun;
  return without(control, rule);
}

}  // namespace shoal
