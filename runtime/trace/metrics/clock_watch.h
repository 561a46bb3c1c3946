// Notices that the machine's clock was set while a process ran: its wall time and its steady time went on by different
// amounts. A machine that slept for a while is taken for one whose clock was set forward.
//
// Durations between two lines of metrics.jsonl come from their "at"; a line that is written after the clock was set
// says by how much (with_clock_set()), so that sums take it off. Pure.
#pragma once

#include <chrono>
#include <cmath>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/base/time/utc_time.h"

namespace shoal {

// One moment by both clocks.
struct BothClocks {
  WallTime wall;
  Instant steady;
  [[nodiscard]] static BothClocks now() { return {SteadyClock().wall_now(), steady_now()}; }
};

class ClockWatch {
 public:
  // Less is how long a process may be held between reading one clock and the other.
  static constexpr double kLeastMs = 1000;

  // Returns by how many ms the clock was set since the last moment that was taken; 0: it was not.
  [[nodiscard]] double set_by_ms(const BothClocks& now) const {
    if (!last_) return 0;
    const std::chrono::duration<double, std::milli> wall = now.wall - last_->wall;
    const double by_ms = wall.count() - milliseconds(now.steady - last_->steady);
    return std::abs(by_ms) < kLeastMs ? 0 : by_ms;
  }
  // Counts from this moment on. A clock that is set by little again and again adds up until it is much.
  void take(const BothClocks& now) {
    if (!last_ || set_by_ms(now) != 0) last_ = now;
  }

 private:
  std::optional<BothClocks> last_;
};

}  // namespace shoal
