// Measures the times that a run is judged by: patience with others counts only while the supervisor itself was awake.
//
// A second clock stands still also while rounds are open: replicas save, evaluate and give copies after them, however
// long their sums take, so nobody's patience with that counts meanwhile. Sync groups watch the sums. Pure.
#pragma once

#include "runtime/base/time/watched_time.h"

namespace shoal {

class RunClock {
 public:
  // Called with every tick: they come several times as often as a second.
  void look(Instant now, bool are_rounds_open) {
    const Duration before = time_.watched();
    time_.look(now);
    if (are_rounds_open) in_rounds_ += time_.watched() - before;
  }
  // A step begins, or is continued.
  void begin_step(Instant now) { step_since_ = now, step_begun_ = outside_rounds(); }
  void begin_phase(Instant now) { phase_since_ = now; }
  // Workers are waited for from now on.
  void begin_gathering(Instant now) { gathering_since_ = now; }

  // How long this process has watched so far.
  [[nodiscard]] Duration awake() const { return time_.watched(); }
  // As of the last look, on a clock that stands still with us: patience with others is counted on it.
  [[nodiscard]] Instant watched() const { return Instant{} + time_.watched(); }
  // As watched(), on the clock that stands still also while rounds are open.
  [[nodiscard]] Instant outside_rounds() const { return watched() - in_rounds_; }
  [[nodiscard]] Instant phase_since() const { return phase_since_; }
  [[nodiscard]] Instant gathering_since() const { return gathering_since_; }
  [[nodiscard]] Instant step_since() const { return step_since_; }
  // As step_since(), outside rounds.
  [[nodiscard]] Instant step_begun() const { return step_begun_; }

 private:
  WatchedTime time_{std::chrono::seconds(1)};
  Duration in_rounds_{};  // part of what we watched
  Instant phase_since_{}, gathering_since_{}, step_since_{}, step_begun_{};
};

}  // namespace shoal
