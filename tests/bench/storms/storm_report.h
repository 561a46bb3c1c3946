// Reads what a storm is judged by off the run that it left, and prints the rows that every storm has.
// Nothing is judged here: each part knows its bars.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/recomputation.h"
#include "tests/bench/storms/joiner_times.h"
#include "tests/bench/storms/storm_run.h"

namespace shoal {

// Processor time of this machine, whoever used it.
class CpuUse {
 public:
  CpuUse();
  // Returns the share of all cores that was in use since then.
  [[nodiscard]] double share() const;

 private:
  double used_ = 0;
  double all_ = 0;
};

struct Found {
  StormEnd end;
  StormTimes times;
  Recomputation work;
  HeartbeatTimes heartbeats;  // of the node that was asked for
};

// An exact run with one replica a stage unless `sets` say otherwise, and steps of equal length.
[[nodiscard]] StormSetup storm_setup(int stages, int nodes, int pace_ms, std::vector<std::string> sets);

// Ends the run and reads what it left. Prints what is wrong; nothing: no trace could be read.
[[nodiscard]] std::optional<Found> find_out(StormRun& run, const std::vector<StormNode>& joiners,
                                            const std::string& heartbeats_of = "");

// The median of the last steps that were recorded; 0: none was.
[[nodiscard]] double recent_step_ms(const Watcher& watcher, std::size_t count);

// The share of the work of those who stayed that commits count.
[[nodiscard]] double used_share(const Recomputation& work);

void print_value(const char* what, double value);
// The median and the greatest.
void print_two(const char* what, std::vector<double> values);
void print_end(const Found& found, double duty);

}  // namespace shoal
