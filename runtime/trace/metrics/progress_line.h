// The line a person watches during a run, as text.
//
// Pure: whoever prints it decides where and how often. On a terminal a line never wraps: where it is too narrow, the
// learning rate, bytes, norm, peers and the bar are left out first, in this order; the legend is broken between
// entries.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/trace/metrics/step_record.h"

namespace shoal {

struct ProgressStyle {
  std::uint64_t steps_target = 0;
  int columns = 100;                  // of the terminal
  bool is_terminal = false;           // a bar only there
  std::uint64_t steps_per_round = 0;  // sync.H; 0: replicas agree at every step
};

// One legend before the first line; lines of its own within the columns of a terminal.
[[nodiscard]] std::string progress_legend(const ProgressStyle& style);
[[nodiscard]] std::string progress_line(const StepRecord& record, const ProgressStyle& style);
[[nodiscard]] std::string progress_line(const EvalRecord& record);

}  // namespace shoal
