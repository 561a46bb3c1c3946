// How long a step took by the supervisor's clock: from one commit to the next. The pause of a roll-back is in the time
// of the step after it; the start of a run is in no step's.
//
//   ready ─ step ─ committed ─ step ─ committed ─ ...
//   taken_over ─ the rest of a step ─ committed ─ ...        a spawner that was started again knows no time before it
//   taken_over ─ begun_again ─ a whole step ─ committed ─ ...   with the pause since the spawner's start
#pragma once

#include <optional>

#include "runtime/base/clock.h"

namespace shoal {

class StepTimer {
 public:
  struct Taken {
    double ms = 0;         // not negative
    bool is_part = false;  // the step began before this spawner
  };

  void taken_over(Instant now) { since_ = now, is_part_ = true; }
  // All replicas start anew: whatever was done of the step in progress is lost.
  void begun_again() { is_part_ = false; }
  // Training begins, or goes on.
  void ready(Instant now) { since_ = since_.value_or(now); }
  // Returns the time of the step that this commit ends; the next one begins.
  [[nodiscard]] Taken committed(Instant now) {
    const Taken taken{milliseconds(now - since_.value_or(now)), is_part_};
    since_ = now;
    is_part_ = false;
    return taken;
  }

 private:
  std::optional<Instant> since_;  // none: training has not begun
  bool is_part_ = false;
};

}  // namespace shoal
