// The line a person watches during a run, as text.
//
// Pure: the caller decides where and how often to print. On a terminal a line never wraps: where it is too narrow, the
// learning rate, bytes, norm, peers and the bar are left out first, in this order; the legend is broken between
// entries.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal {

struct ProgressStyle {
  std::uint64_t steps_target = 0;
  int columns = 100;                  // the terminal's
  bool is_terminal = false;           // a bar only there
  std::uint64_t steps_per_round = 0;  // sync.H; 0: replicas agree at every step
};

// The figures of a progress line that are of more than its own step.
struct LineMeans {
  std::optional<double> sent_bytes;     // per step; nothing where no step's bytes are known
  std::optional<double> usual_step_ms;  // nothing where no whole step was timed yet, as after a spawner's return
};

// The steps between two lines, and the pace that the rest of the run is expected to go at: the middle one of the latest
// steps. The first step after a roll-back or a restart has the pause in it, and the rest of the run has not.
class ProgressWindow {
 public:
  static constexpr std::size_t kRecentMax = 32;

  void add(const StepRecord& record);
  // Returns the means of the steps since the last call; the pace is that of the latest kRecentMax timed steps.
  [[nodiscard]] LineMeans take();

 private:
  double sent_bytes_ = 0;
  std::uint64_t sent_steps_ = 0;  // steps whose bytes are known
  std::deque<double> recent_ms_;
};

// One legend before the first line; lines of its own within the columns of a terminal.
[[nodiscard]] std::string progress_legend(const ProgressStyle& style);
[[nodiscard]] std::string progress_line(const StepRecord& record, const LineMeans& means, const ProgressStyle& style);
// The two kinds have names of their own, and each says on how much text it was made.
[[nodiscard]] std::string progress_line(const EvalRecord& record);
[[nodiscard]] std::string progress_line(const EvalProgress& progress);

// Decides when to say how far an evaluation is: at its begin, then every ten seconds.
class ProgressPace {
 public:
  [[nodiscard]] bool is_due(Instant now) {
    const bool is_early = told_ && now - *told_ < std::chrono::seconds(10);
    if (!is_early) told_ = now;
    return !is_early;
  }

 private:
  std::optional<Instant> told_;
};

}  // namespace shoal
