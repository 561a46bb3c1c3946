// Policies of a simulated swarm for people, for programs and as a picture.
//
// JSON: {"policies":[{"rebalance":"none"|"300","percent_of_optimal":X,"moves":N,"first_hour":X,"last_hour":X,
// "worst_seed":X}],"nodes":N,"hours":H,"seeds":N,"stages":N}; moves are the mean of a seed, rounded.
#pragma once

#include <string>

#include "runtime/drawing/chart.h"
#include "runtime/plan/swarm/swarm_comparison.h"

namespace shoal {

[[nodiscard]] std::string text_of(const SwarmComparison& comparison);
[[nodiscard]] std::string json_of(const SwarmComparison& comparison);

// Percent of the optimum over the hours of the first seed, a curve for each policy.
[[nodiscard]] Chart chart_of(const SwarmComparison& comparison);

}  // namespace shoal
