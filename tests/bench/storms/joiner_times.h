// How soon a node that joins is of use, and how evenly a run commits meanwhile, from its trace (level `all`) alone:
// times are of the machine's steady clock, which the observer shares.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/trace/report/run_trace.h"
#include "tests/bench/recovery_watch.h"

namespace shoal {

// Milliseconds from the order to join.
struct JoinerTime {
  std::string node;
  double started = 0;  // its worker began to trace
  double added = 0;    // it became a member of the view
  double counted = 0;  // it had computed its first microbatch that a commit counts
};

struct StormTimes {
  std::vector<JoinerTime> joiners;         // in the order of `asked`
  std::vector<std::string> never_counted;  // asked, and no commit counts anything of them
  std::vector<WatchClock::time_point> commits;
};

// asked: by node, when it was told to join. Errors: those of read_run_trace().
[[nodiscard]] Result<StormTimes> storm_times(const std::string& run_directory, const RunTrace& trace,
                                             const std::vector<std::pair<std::string, WatchClock::time_point>>& asked);

// How a node's heartbeats came to the spawner.
struct HeartbeatTimes {
  std::size_t count = 0;
  double longest_way_ms = 0;    // from its process to the spawner's
  double longest_pause_ms = 0;  // between two that came
};

[[nodiscard]] HeartbeatTimes heartbeat_times(const RunTrace& trace, const std::string& node);

// The longest time between two commits, in milliseconds.
[[nodiscard]] double longest_pause_ms(const StormTimes& times);
// From that instant to the next commit, in milliseconds; 0: none followed.
[[nodiscard]] double next_commit_ms(const StormTimes& times, WatchClock::time_point from);

}  // namespace shoal
