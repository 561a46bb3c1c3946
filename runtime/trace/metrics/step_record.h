// One object of metrics.jsonl, as values and as a line of JSON. The names are the contract of launch/RUNS.md.
//
// Written by the metrics actor and by `train --single` alike, so that both runs read the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/metrics.h"
#include "runtime/base/time/utc_time.h"

namespace shoal {

struct StepRecord {
  std::uint32_t branch = 0;
  std::uint64_t step = 0;
  double loss = 0;       // nats per token, before the update
  double grad_norm = 0;  // before clipping; of a skipped step nobody's, for tensors were left out of it
  double lr = 0;
  std::uint64_t tokens = 0;
  std::uint64_t tokens_total = 0;
  std::uint64_t sequences_total = 0;
  double step_ms = 0;
  bool is_partly_timed = false;         // step_ms is of a part of the step, and no rate of it is known
  std::uint64_t view = 0;               // journal position of the commit; 0 in a single process
  std::vector<std::uint32_t> replicas;  // per stage
  std::uint32_t microbatches = 0;
  std::uint32_t retried = 0;
  std::uint64_t lost_tokens = 0;
  // Microbatches whose passes at different stages are not of one set of weights, because a replica was replaced in the
  // middle of the step; only with rounds.
  std::optional<std::uint32_t> approximated;
  // Nothing where no replica's report was there: filled in from the journal, or all of them were lost.
  std::optional<TimeBreakdown> time;  // mean over replicas
  std::optional<ByteCounts> bytes;    // sum over replicas
  std::optional<double> mfu;          // of all devices together (device_figures.h)
  // By stage and replica: what each one's process did with its device. Of one that did not report nothing is known.
  std::vector<std::vector<DeviceUse>> devices;
  std::optional<std::string> skipped;  // why the step was skipped
  // Says that the line comes from the journal: the metrics actor of the step died before it wrote one.
  bool is_filled = false;
};

// Nothing where the whole step's time is not known.
[[nodiscard]] std::optional<double> tokens_per_s_of(const StepRecord& record);

// Evaluation of one of two kinds, compared with its own kind only: a periodic one is of the first eval.batches batches
// of the validation text, the final one of eval.final_batches, by default of all of them.
struct EvalRecord {
  std::uint64_t step = 0;  // steps applied
  double val_loss = 0;     // nats per token
  double bits_per_byte = 0;
  bool is_of_agreed = false;  // the parameters agreed at the last rounds were evaluated, not a step's
  bool is_final = false;      // after the last step
  std::uint64_t windows = 0;  // windows of the validation text, from its beginning
  std::uint64_t tokens = 0;   // targets in them
  double eval_ms = 0;         // since the commit or the round before it, or since training went on with it
};

// Progress of the final evaluation: shown, never written.
struct EvalProgress {
  std::uint64_t step = 0;  // steps applied
  std::uint64_t windows = 0;
  std::uint64_t windows_planned = 0;
};

// A membership change, or another entry of the journal that is no commit.
struct ViewRecord {
  std::uint64_t position = 0;  // in the journal
  std::string change;
  std::uint64_t step = 0;  // steps committed before it
  RunEventKind kind = RunEventKind::kView;
  std::string reason = "journal";
};

struct FinalRecord {
  RunEventKind kind = RunEventKind::kFinished;  // or kStopped
  std::uint64_t steps = 0;
  std::uint64_t tokens_total = 0;
  // See goodput.h; of the lines before this one. Nothing where there was no undisturbed step.
  std::optional<double> goodput;
  std::uint64_t lost_tokens = 0;
  std::string weights_sha256;
};

// The parts, in seconds, that the time between a start and an end went to; disjoint, and they add up to it.
struct TimeParts {
  double start = 0;       // until the first step began
  double training = 0;    // steps that the weights went through, rounds and checkpoints beside them included
  double evaluation = 0;  // nothing is trained meanwhile
  double checkpoint = 0;  // nothing is trained meanwhile: all in one process, of pipelines the last one
  double stalled = 0;     // more than steps usually take, after a fault, and while no spawner ran
  double repeated = 0;    // steps that a roll-back threw away
};

// The parts, in seconds, of the time of all steps that goodput does not count: what steps took beyond the time that
// their tokens take at the rate of undisturbed ones. Disjoint; goodput = 1 - their sum / the time of all steps.
// Negative where these steps were the quicker ones.
struct GoodputLoss {
  double first_steps = 0;  // one of each start: workers connect, take memory, fill the pipeline
  double eventful = 0;     // steps with retries or with an event before them: a fault, a checkpoint, an evaluation
  double repeated = 0;     // steps that a roll-back threw away
  double uneven = 0;       // all others, of which some are slower than the rest
};

struct FaultCounts {
  std::uint64_t processes = 0;  // nodes and storage, lost
  std::uint64_t actors = 0;     // those that ended or hung, and were replaced
  std::uint64_t spawners = 0;   // processes that took over from one that died
  std::uint64_t rollbacks = 0;
  std::uint64_t quarantined = 0;  // microbatches
};

// Adds up the events of checkpoints: also those that pipelines save while they train.
struct CheckpointSum {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // size of their files; 0 for one whose event does not say
  double seconds = 0;       // time to write them
};

// A run, or one start of it.
struct SpanSummary {
  double seconds = 0;        // without the pauses between an end and a start
  std::uint64_t steps = 0;   // those that the weights went through
  std::uint64_t tokens = 0;  // in them
  std::optional<double> goodput;
  std::optional<GoodputLoss> goodput_loss;  // nothing where the goodput is not known
  TimeParts time;
  // As replicas report them, and the checkpoint after whose sending none reported: the last one of a start. Lines of an
  // older version count shards as state.
  ByteCounts bytes;
  std::uint64_t uncounted_steps = 0;  // steps whose bytes nobody reported
  CheckpointSum checkpoints;
  std::uint64_t rounds = 0;        // those of all fragments, as stage 0 has them
  std::uint64_t lost_tokens = 0;   // trained, and not in the model
  std::uint64_t approximated = 0;  // microbatches
  std::uint64_t lines_lost = 0;    // could not be written: no figure has what they told
  FaultCounts faults;
};

// A line at the end of a run, before its last one.
struct SummaryRecord {
  std::uint64_t steps = 0;   // those of the weights
  std::uint64_t starts = 1;  // by a person
  // Steps of the weights that no line tells of: lines that wait for a full disk, or were lost. No figure has them.
  std::uint64_t untold_steps = 0;
  SpanSummary life;  // since the last of them
  SpanSummary run;
};

// Adds the moment at which a line was given out to be written, as its last key, "at".
[[nodiscard]] std::string with_time(std::string line, WallTime at);
// Adds before it that the machine's clock was set by so many ms since the line before, "clock_set_ms"; negative: back.
[[nodiscard]] std::string with_clock_set(std::string line, double by_ms);

// Without the newline, and without "at".
[[nodiscard]] std::string to_json_line(const StepRecord& record);
[[nodiscard]] std::string to_json_line(const EvalRecord& record);
[[nodiscard]] std::string to_json_line(const SummaryRecord& record);
// Returns no text: it is no line of the file.
[[nodiscard]] std::string to_json_line(const EvalProgress& progress);
[[nodiscard]] std::string to_json_line(const FinalRecord& record);
[[nodiscard]] std::string to_json_line(const ViewRecord& record);
[[nodiscard]] std::string to_json_line(const RunEvent& event);

}  // namespace shoal
