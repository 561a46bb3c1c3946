// How long a sync group waits before it does something again: longer each time, so that slow is not taken for stuck for
// ever (P-19a).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

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

// How long a sum may stand still until it is given up: four times what one took on the average, because to begin again
// costs as much; at least `floor`; `first` while none was measured.
class SumPatience {
 public:
  SumPatience(Duration first, Duration floor) : first_(first), floor_(floor) {}

  void took(Duration measured) {
    constexpr double kWeight = 0.2;  // weight of the newest
    const std::chrono::duration<double, std::milli> newest(measured);
    average_ = average_ ? *average_ + kWeight * (newest - *average_) : newest;
  }
  [[nodiscard]] Duration timeout() const {
    constexpr double kFactor = 4;
    return average_ ? std::max(std::chrono::duration_cast<Duration>(kFactor * *average_), floor_) : first_;
  }

 private:
  Duration first_;
  Duration floor_;
  std::optional<std::chrono::duration<double, std::milli>> average_;
};

}  // namespace shoal
