// Reads the lines of a metrics.jsonl as series over a run's steps.
//
// A roll-back trains steps again: the last life of a step counts, and what the former ones said of it is thrown away,
// as are evaluations, rounds and checkpoints of weights that were left. Faults and joins stay: they happened. A torn
// last line is that of a run that is being written or was killed; any other line that is no JSON object is damage: it
// is counted and left out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();  // a gap in a curve

struct SeriesStep {
  std::uint64_t applied = 0;       // steps, with this one
  std::uint64_t tokens_total = 0;  // with this step's
  std::uint64_t tokens = 0;
  double elapsed_s = 0;  // over all lines so far, those of steps that were trained again included
  double step_ms = 0;    // 0: not known, or of a part of it alone (the spawner was started again in the middle)
  double loss = 0;       // nats per token; not a number where it was not finite
  bool is_skipped = false;
};

struct SeriesEvaluation {
  std::uint64_t applied = 0;
  double loss = 0;
  bool is_final = false;
  std::uint64_t windows = 0;  // 0: not known
};

enum class MomentKind : std::uint8_t { kFault, kSkip, kJoin, kReturn, kBranch, kRound, kCheckpoint };

struct SeriesMoment {
  MomentKind kind = MomentKind::kFault;
  std::uint64_t applied = 0;
  double elapsed_s = 0;
  bool is_abandoned = false;  // the run went back behind it
};

// Lines that were left out.
struct DamagedLines {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // its number in the file, from 1 on; 0: there is none
};

// "line 7 is damaged and left out"; "3 damaged lines are left out, the first is line 7". Of at least one.
[[nodiscard]] std::string text_of(const DamagedLines& damaged);

struct RunSeries {
  std::string name;
  std::vector<SeriesStep> steps;              // ascending
  std::vector<SeriesEvaluation> evaluations;  // ascending; of a step at most one of each kind
  std::vector<SeriesMoment> moments;
  std::uint64_t abandoned = 0;  // steps that the run went back behind
  DamagedLines damaged;
};

class RunSeriesReader {
 public:
  // Takes one line of the file, without its newline, and its number. One that is no JSON object is damaged.
  void add(std::string_view line, std::uint64_t number);
  // Takes a line that was too long to be read.
  void add_damaged(std::uint64_t number);
  [[nodiscard]] const RunSeries& series() const { return series_; }

 private:
  struct Fields;
  void add_step(const Fields& fields);
  void add_evaluation(const Fields& fields);
  void add_event(const Fields& fields);
  // Drops what was said of the state after more steps than these: it is no longer of this run.
  void go_back_to(std::uint64_t applied);

  RunSeries series_;
  double elapsed_s_ = 0;
  bool is_cut_ = false;                        // the time of the next step: a spawner counts from its start
  std::optional<std::uint64_t> went_back_to_;  // steps applied, until the next step: later events may know more
};

// Reads a whole file. Errors: kIo (it is not there or cannot be read), kInvalidData (no line tells of a step); each
// names the file.
[[nodiscard]] Result<RunSeries> read_run_series(const std::string& metrics_path);

}  // namespace shoal
