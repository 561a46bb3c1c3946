// Sums up what a run took, and for what: the summary at its end, by the lines of metrics.jsonl, which outlive their
// writers.
//
//   started ─ start ─ step, step, ... (evaluations, faults, roll-backs between them) ─ evaluation, checkpoint ─ now
//
// The time from a person's start to now is by the lines' "at". In it each step's line accounts for its step_ms: first
// the evaluation before it; in one process the saving before it, and where its text could not be read what it waited
// besides, as stalled; after a fault what is more than its tokens usually take; the rest is training. What lies before
// the first step is the start, what lies after the last one is evaluation and the last checkpoint, and what lies
// between two steps and is in neither is a pause without a spawner: stalled. So is the time from the last step to a
// person's stop where a worker was missing and no step ended any more, and to when the run went on after a fault in its
// last evaluation, which begins again then. A line says by how much the machine's clock was set before it, while a
// process wrote lines (clock_watch.h): this and all later lines count as of the clock before. An evaluation that a stop
// breaks off has no line. A run of pipelines that is stopped behind its last step, with everybody there, was evaluating
// up to then; one process, which saves first, after its last step but for the saving. Pauses between an end and a
// person's next start count nowhere. The parts add up to the whole by construction.
//
// A start finds steps, rounds and checkpoints in the journal and on the disk that the one before it had not told when
// it died. Their lines stand behind its own "started", before training goes on, and count as that former one's.
//
// A step's line has the bytes that were sent since the one before it. The last checkpoint of a start is sent after its
// last line: the event of it says how many bytes it has.
//
// A roll-back that a spawner begins and does not live to end is begun again by the next one, as the same branch: it
// counts once. What no line tells of is in no sum, but its steps are counted as missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/trace/metrics/goodput.h"
#include "runtime/trace/metrics/line_facts.h"
#include "runtime/trace/metrics/metrics_lines.h"
#include "runtime/trace/metrics/step_history.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal {

// Adds up successive lines in bounded memory.
class SpanTally {
 public:
  void add(const LineFacts& facts);
  // Returns the summary of weights after so many steps.
  [[nodiscard]] SpanSummary of(std::uint64_t steps, WallTime now) const;
  [[nodiscard]] const Goodput& goodput() const { return goodput_; }

 private:
  // A start by a person.
  struct Start {
    std::optional<WallTime> began;     // nothing: no line says
    std::optional<WallTime> stepped;   // the last step's line
    std::optional<WallTime> told;      // the last line
    double evaluated_ms = 0;           // since the last step's line
    std::optional<double> saved_ms;    // since then, by one process
    bool is_disturbed = false;         // since then
    bool is_unread = false;            // since then by a text that could not be read
    bool is_left = false;              // since then by a worker that was told to go
    std::optional<WallTime> stopping;  // the last stop, if it came since then
    std::optional<WallTime> went_on;   // when all was there again after a fault, if it came since then
    bool is_taken_over = false;        // since then, by another spawner
    bool has_trained = false;          // or trains now
  };

  void add(const StepFacts& step, Start& start);
  void add(const EventFacts& event);
  void count(const EventFacts& event);
  void count_rollback(std::optional<std::uint64_t> branch);
  [[nodiscard]] static StepFacts placed_in(const Start& start, StepFacts step);
  // Says whether what such a line tells was done before this start.
  [[nodiscard]] bool is_of_former(const LineFacts& facts) const;
  void begin_training();
  // Takes what lies before a step and is in no step's time.
  void add_gap(double gap_ms, const Start& start);
  void end(Start start, WallTime until);
  // Returns how long the evaluation was under way that the end broke off.
  [[nodiscard]] static double broken_off_ms(const Start& start, WallTime until);
  void end_former();
  // Counts the checkpoint that no later line has the bytes of.
  void settle_checkpoint();

  // A checkpoint of pipelines whose bytes the line of a later step has, if there comes one.
  struct Unreported {
    std::uint64_t version = 0;
    std::uint64_t bytes = 0;
  };

  Goodput goodput_;
  StepHistory history_;  // with the time of training
  Start start_;
  std::optional<Start> former_;  // until this one trains
  std::optional<Unreported> unreported_;
  std::optional<std::uint64_t> steps_sent_;         // as the last line of a step by pipelines says
  std::optional<std::uint64_t> begun_by_rollback_;  // the newest branch that a roll-back began
  SpanSummary sum_;                                 // bytes, rounds, checkpoints and faults
  double start_ms_ = 0;
  double training_ms_ = 0;  // also of steps that were thrown away
  double evaluation_ms_ = 0;
  double checkpoint_ms_ = 0;
  double stalled_ms_ = 0;
  double gaps_ms_ = 0;  // between steps; lines that come late make some negative
};

class RunSummary {
 public:
  // Lines in the order of the file.
  void add(std::string_view line);
  // now: by the clock of the last line.
  [[nodiscard]] SummaryRecord of(std::uint64_t steps, WallTime now) const;
  // Returns the same with what the last line of the run says was lost: also what no step's line could name any more.
  [[nodiscard]] SummaryRecord of(std::uint64_t steps, WallTime now, std::uint64_t lost_at_the_end) const;
  // Returns the goodput of the whole run.
  [[nodiscard]] const Goodput& goodput() const { return run_.goodput(); }

 private:
  SpanTally life_;
  SpanTally run_;
  std::uint64_t starts_ = 0;
  std::chrono::milliseconds clock_set_{0};  // by all lines
};

// Reads a file that grows bit by bit, because that of a run of months is read for seconds. A file that is not there,
// or cannot be read, has no lines.
class SummaryReader {
 public:
  explicit SummaryReader(std::string path) : path_(std::move(path)) {}

  // The next whole lines, until about so many bytes are read. False: there are no more now.
  bool read_on(std::size_t bytes);
  // Returns the sums after reading all lines there are.
  [[nodiscard]] const RunSummary& read_all();

 private:
  std::string path_;
  std::optional<MetricsLines> lines_;  // reads the file, which is opened when it is first read
  RunSummary summary_;
};

}  // namespace shoal
