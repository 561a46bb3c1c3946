// The share of their time that workers compute, in the long run or from a cold start.
//
// In the long run every bit that is contributed has to be sent: whatever the overlap, utilisation x period x link
// rate >= bits of a period. A cold start knows no such bound: what the first rounds leave unsent is never paid for.
#pragma once

#include "runtime/plan/scenario.h"

namespace shoal {

struct Utilisation {
  double share = 0;       // part of the time that is spent computing, 0..1
  double period_s = 0;    // mean time of a period
  double lost_s = 0;      // time of a period without computing
  double sent_bits = 0;   // mean per worker and period
  bool is_steady = true;  // false: still drifting when the simulation gave up, or with jitter
};

// Utilisation after the first periods: when two periods in a row take the same time and leave as much unsent. With
// jitter, the mean over some hundred steps.
[[nodiscard]] Utilisation steady_utilisation(const Scenario& scenario);

// Utilisation over so many periods from the first step on, until all is merged that is needed before the next one.
[[nodiscard]] Utilisation cold_utilisation(const Scenario& scenario, std::uint64_t periods);

}  // namespace shoal
