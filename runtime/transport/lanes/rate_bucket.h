// Bounds a rate of bytes: who may go on now, and who goes on later.
//
// A bucket fills at the rate and holds kBurst at most. A frame goes as a whole as long as the bucket is not below
// empty; what it takes beyond that is owed, and nothing goes until that is paid back. So frames of any size pass, at
// the rate on average. Pure: time comes in.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/base/clock.h"

namespace shoal {

class RateBucket {
 public:
  static constexpr auto kBurst = std::chrono::milliseconds(50);  // of the rate: what may go at once after a pause

  // 0: no bound.
  explicit RateBucket(std::uint64_t bit_per_s) : byte_per_s_(static_cast<double>(bit_per_s) / 8) {}

  [[nodiscard]] bool is_bounded() const { return byte_per_s_ > 0; }
  [[nodiscard]] bool may_go(Instant now) const { return !is_bounded() || level_at(now) >= 0; }
  // Returns the time until something may go; a nanosecond more, for what the sums of doubles round off.
  [[nodiscard]] Duration wait(Instant now) const {
    if (may_go(now)) return Duration::zero();
    const std::chrono::duration<double> owed(-level_at(now) / byte_per_s_);
    return std::chrono::ceil<Duration>(owed) + Duration(1);
  }
  void take(std::size_t bytes, Instant now) {
    if (!is_bounded()) return;
    level_ = level_at(now) - static_cast<double>(bytes);
    at_ = now;
  }

 private:
  [[nodiscard]] double level_at(Instant now) const {
    const double burst = byte_per_s_ * std::chrono::duration<double>(kBurst).count();
    const double passed = std::chrono::duration<double>(now - at_).count();
    return std::min(burst, level_ + passed * byte_per_s_);
  }

  double byte_per_s_;
  double level_ = 0;
  Instant at_{};
};

}  // namespace shoal
