// How long a sync group waits before it does something again: longer each time, so that slow is not taken for stuck for
// ever (protocol.md §7).
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/clock.h"

namespace shoal {

// A time-out or first interval of the n-th try of a step or round (from 1; 0 counts as the first). Those before it were
// in vain: a new epoch for another reason, such as a change of membership, is no new try.
[[nodiscard]] inline Duration doubled_per_try(Duration base, std::uint32_t tries) {
  constexpr std::uint32_t kDoublingsMax = 6;
  return base * (std::uint32_t{1} << std::min(std::max(tries, 1U) - 1, kDoublingsMax));
}

// Until the next repeat, after one that came this long after the last.
[[nodiscard]] inline Duration next_interval(Duration interval) {
  constexpr Duration kIntervalMax = std::chrono::minutes(2);
  return std::min(2 * interval, kIntervalMax);
}

}  // namespace shoal
