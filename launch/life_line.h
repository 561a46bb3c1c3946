// A kept process tells its keeper of its life: that its start is over, that the run is further by it, that it lives.
//
//   keeper: LifeLine::make(), its far end ──inherited──▶ child: take_life_line(), then tell_keeper() when it has news
//           hear(), also of a child that has ended ◀──a sign for each, and twice a second── show_life()
//
//   sign: what it has reached ('n' nothing, 'u' up, 'w' work), then the silence that may follow, in ms: "u10000"
//
// Signs outlive the child: a keeper learns of a process that was killed whether its life was of use, which is what
// RestartPolicy asks. One that is lost, because the keeper did not read, is made good by the next. A process that stops
// showing signs is judged by LifeWatch, and so is a keeper that stops reading them. A process without a keeper writes
// nothing.
#pragma once

#include <optional>

#include "runtime/base/clock.h"
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
  // Reads what has come. Returns the silence that the newest sign allows; nothing: no sign since the last call.
  std::optional<Duration> hear();
  // The most that was told up to the last hear().
  [[nodiscard]] LifeReached reached() const { return reached_; }

 private:
  int near_ = -1;
  int far_ = -1;
  LifeReached reached_ = LifeReached::kNothing;
};

// The name that tells a child the number of its end.
inline constexpr const char* kLifeLineName = "SHOAL_KEEPER";

// Takes the end that the keeper left, so that no child of ours inherits it. Call it first, with one thread.
void take_life_line();

// Each is told at once, and once; any thread.
void tell_keeper(LifeReached reached);

// Shows that this process lives, and for how long it may be silent from here on; not more often than twice a second.
// Any thread. The keeper kills a process that is silent for longer.
void show_life(Duration allowed);
// From here on the keeper expects no sign: this process ends within a time of its own.
void show_end();

// Returns how long the keeper has read none of the signs shown, once that is long for one that lives; nothing while it
// reads, and without a keeper. Any thread.
[[nodiscard]] std::optional<Duration> keeper_silence();

}  // namespace shoal
