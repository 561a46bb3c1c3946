// A kept process tells its keeper two things of its life: that its start is over, and that the run is further by it.
//
//   keeper: LifeLine::make(), its far end ──inherited──▶ child: take_life_line(), then tell_keeper() when it has news
//           reached(), also of a child that has ended ◀──one byte for each──┘
//
// The bytes outlive the child: a keeper learns of a process that was killed whether its life was of use, which is what
// RestartPolicy asks. A process without a keeper writes nothing.
#pragma once

#include "runtime/base/error.h"
#include "runtime/base/restart_policy.h"

namespace shoal {

class LifeLine {
 public:
  // No line: the child of it tells nothing.
  LifeLine() = default;
  // Errors: kIo, the system has no socket to give.
  [[nodiscard]] static Result<LifeLine> make();
  LifeLine(LifeLine&& other) noexcept;
  LifeLine& operator=(LifeLine&& other) noexcept;
  ~LifeLine();

  // The descriptor that the child inherits; -1: none.
  [[nodiscard]] int far_end() const { return far_; }
  // Once the child has it: the line then ends with the child.
  void close_far_end();
  // The most that was told up to now.
  [[nodiscard]] LifeReached reached();

 private:
  int near_ = -1;
  int far_ = -1;
  LifeReached reached_ = LifeReached::kNothing;
};

// The name that tells a child the number of its end.
inline constexpr const char* kLifeLineName = "SHOAL_KEEPER";

// Takes the end that the keeper left, so that no child of ours inherits it. Call it first, with one thread.
void take_life_line();

// Each is told once; any thread.
void tell_keeper(LifeReached reached);

}  // namespace shoal
