// How long actors that were told to end were away, by the events of the trace alone: from the moment at which the fault
// reached the actor's process to the one at which its next life began there, in the next life of that process where it
// ended with its actor. Both are of one machine's clock.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

// Times by kind ("stage", "sync_group", ...): milliseconds, ascending; without faults whose actor did not start again.
struct RestartTimes {
  std::map<std::string, std::vector<double>> ms;
  std::map<std::string, std::size_t> without_restart;
};

[[nodiscard]] RestartTimes restart_times(const RunTrace& trace);

// A row of a table for each kind: how many, median, the 99th of a hundred, the greatest.
void print_restart_times(const RestartTimes& times);

}  // namespace shoal
