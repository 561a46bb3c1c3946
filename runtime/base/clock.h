// Time comes in, it is never taken: cores take an Instant, actors read their system's clock, everything else a Clock.
//
// No decision of the protocol uses wall time (a jump of it must change nothing); it is for file names and certificates.
#pragma once

#include <chrono>

namespace shoal {

using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Returns this moment, for threads that serve sockets: no decision of the protocol depends on when a connection times
// out.
[[nodiscard]] inline Instant steady_now() { return std::chrono::steady_clock::now(); }

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall_now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return steady_now(); }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::now();
  }
};

[[nodiscard]] inline double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace shoal
