// Computes how much of a run's time was useful, by the lines of metrics.jsonl, which outlive their writers.
//
//   goodput = committed tokens / (tokens/s of undisturbed steps x wall time)
//   wall time: step_ms of all step lines, those of branches that were left included, without the evaluations in them
//   committed tokens: of the steps that the weights went through; a step's line replaces it and all later ones before
//   undisturbed: nothing was sent again, and no event's line stands between this step's line and the one before
//   tokens/s of undisturbed steps: of the middle one or of all together, whichever is more. A trouble that no line
//   tells of makes steps slow, and must not lower what they are measured by; a few quick ones must not beat it.
//
// At most 1: where steps with an event in them were the quicker ones, they are what is measured by.
//
// The first step of each start is in the wall time, and slower than others: of a short run it takes a good part. So
// what is missing to 1 is told by parts (GoodputLoss).
//
// Time that is in no step's line is no wall time: the start, while no spawner ran, between a stop and a resume, and
// what comes after the last step. A step whose time is not known, or only that of a part of it, counts neither its time
// nor its tokens. Memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/trace/metrics/line_facts.h"
#include "runtime/trace/metrics/step_history.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal {

class Goodput {
 public:
  // Lines in the order of the file. What is torn or no line of a run changes nothing.
  void add(const LineFacts& facts);

  // Goodput of weights after this many steps. Nothing where no undisturbed step is known.
  [[nodiscard]] std::optional<double> of(std::uint64_t steps) const;
  // Returns what it lacks to 1, in seconds. Nothing where it is not known.
  [[nodiscard]] std::optional<GoodputLoss> loss_of(std::uint64_t steps) const;
  // Tokens of the lines' steps that weights after this many steps did not go through.
  [[nodiscard]] std::uint64_t thrown_away(std::uint64_t steps) const;
  // Returns the rate of undisturbed steps in tokens/ms; 0 where none is known.
  [[nodiscard]] double usual_rate() const;

 private:
  struct Work {
    double tokens = 0;
    double ms = 0;
    void add(double more_tokens, double more_ms) { tokens += more_tokens, ms += more_ms; }
  };

  void add(const StepFacts& step);
  void add_undisturbed(double tokens, double ms);

  StepHistory history_;
  std::uint64_t tokens_ = 0;  // those of all lines
  double wall_ms_ = 0;
  double evaluation_ms_ = 0;        // since the last step's line
  Work undisturbed_;                // the yardstick
  Work first_;                      // steps of starts
  Work eventful_;                   // others with retries, or an event before them
  bool is_first_ = true;            // no step of this start has a line yet
  bool is_disturbed_ = false;       // an event's line came after the last step's
  std::vector<double> rates_;       // tokens/ms of every stride_-th undisturbed step
  std::uint64_t rates_before_ = 0;  // undisturbed steps so far
  std::uint64_t stride_ = 1;
};

}  // namespace shoal
