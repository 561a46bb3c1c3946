// Assigns machines to stages by speed: a newcomer to where it gains most, or all of them as is best.
//
// Pure. A stage's capacity is the sum of the speeds of its machines divided by its load (work of one microbatch there);
// the throughput of a pipeline is the least capacity.
#pragma once

#include <cstddef>
#include <vector>

namespace shoal {

// Returns the index of the least capacity, the first of equal ones. Ensures that there is one.
[[nodiscard]] std::size_t weakest_stage(const std::vector<double>& capacities);

// Returns the stage that each machine serves. Longest processing time first (Graham, "Bounds on Multiprocessing Timing
// Anomalies", 1969), then moves and swaps with the weakest stage for as long as they raise it. The exact best is hard
// (partitioning numbers); with some machines per stage this comes within a few thousandths of sum of speeds / sum of
// loads, which no assignment exceeds. Ensures that speeds and loads are above zero and that there is a stage.
[[nodiscard]] std::vector<std::size_t> best_assignment(const std::vector<double>& speeds,
                                                       const std::vector<double>& loads);

[[nodiscard]] std::vector<double> capacities_of(const std::vector<std::size_t>& stage_of,
                                                const std::vector<double>& speeds, const std::vector<double>& loads);

}  // namespace shoal
