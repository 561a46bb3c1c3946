// A joiner behind a link of 50 Mbit/s: one that can follow the steps serves, one that cannot says so and stays a spare.
// The other parts of bench_storms are in its main file.
#pragma once

namespace shoal {

// Prints a row for each size of state. Returns 0 where both came out so, with heartbeats on time and equal bits.
[[nodiscard]] int bench_states(double seconds);

}  // namespace shoal
