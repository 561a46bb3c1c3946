// The ends of jobs that a device was given, in their order, and the verdict that it hangs.
//
// A device has one job after the other: the oldest is measured from when it became the oldest. One that takes longer
// than any job does will not end, nor will those behind it, so the process is to be replaced. Time counts only while
// the process looked: a machine that was suspended is no device that hangs. Pure: time comes in.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/time/watched_time.h"

namespace shoal {

class EndWatch {
 public:
  explicit EndWatch(Duration patience) : patience_(patience) {}

  void begin(Instant now);
  // The oldest has ended. Ensures that there is one.
  void end(Instant now);

  [[nodiscard]] std::uint64_t under_way() const { return under_way_; }
  // The reason, when the oldest has taken longer than the patience. Called once a second or more often while jobs are
  // under way.
  [[nodiscard]] std::optional<std::string> hang(Instant now);

 private:
  Duration patience_;
  std::uint64_t under_way_ = 0;
  WatchedTime time_{std::chrono::seconds(1)};
  Duration oldest_since_{};  // on our watch
};

}  // namespace shoal
