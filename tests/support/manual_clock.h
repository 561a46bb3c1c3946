// A clock that a test moves by hand: starts one hour after the epoch of Instant, never runs by itself.
// Wall time may also jump by itself, as it does on real machines.
#pragma once

#include <chrono>

#include "runtime/base/clock.h"

namespace shoal {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override { return wall_; }

  void advance(Duration duration) {
    now_ += duration;
    wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
  }

  // Wall time alone: what an administrator or NTP does to a running process.
  void jump_wall(std::chrono::system_clock::duration duration) { wall_ += duration; }

 private:
  Instant now_ = Instant{} + std::chrono::hours(1);
  std::chrono::system_clock::time_point wall_ = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
};

}  // namespace shoal
