// One object of metrics.jsonl, as values and as a line of JSON. The names are the contract of README.md.
//
// Written by the metrics actor and by `train --single` alike, so that both runs read the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/metrics.h"

namespace shoal {

struct StepRecord {
  std::uint32_t branch = 0;
  std::uint64_t step = 0;
  double loss = 0;       // nats per token, before the update
  double grad_norm = 0;  // before clipping
  double lr = 0;
  std::uint64_t tokens = 0;
  std::uint64_t tokens_total = 0;
  std::uint64_t sequences_total = 0;
  double step_ms = 0;
  std::uint64_t view = 0;               // journal position of the commit; 0 in a single process
  std::vector<std::uint32_t> replicas;  // per stage
  std::uint32_t microbatches = 0;
  std::uint32_t retried = 0;
  std::uint64_t lost_tokens = 0;
  // With rounds: microbatches whose passes at different stages are not of one set of weights, because a replica was
  // replaced in the middle of the step.
  std::optional<std::uint32_t> approximated;
  // Nothing where no replica's report was there: filled in from the journal, or all of them were lost.
  std::optional<TimeBreakdown> time;   // mean over replicas
  std::optional<ByteCounts> bytes;     // sum over replicas
  std::optional<std::string> skipped;  // why the step was skipped
};

// Two kinds, which are compared with their own kind only: periodic ones are of the first eval.batches batches of the
// validation text, the final one is of eval.final_batches, by default of all of them.
struct EvalRecord {
  std::uint64_t step = 0;  // steps applied
  double val_loss = 0;     // nats per token
  double bits_per_byte = 0;
  bool is_of_agreed = false;  // of the parameters agreed at the last rounds, not of a step's
  bool is_final = false;      // after the last step
  std::uint64_t windows = 0;  // of the validation text, from its beginning
  std::uint64_t tokens = 0;   // targets in them
};

// How far the final evaluation is: shown, never written.
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
  std::string event = "view";
  std::string reason = "journal";
};

struct FinalRecord {
  std::string event = "finished";  // or "stopped"
  std::uint64_t steps = 0;
  std::uint64_t tokens_total = 0;
  // See goodput.h; of the lines before this one. Nothing where there was no undisturbed step.
  std::optional<double> goodput;
  std::uint64_t lost_tokens = 0;
  std::string weights_sha256;
};

// Without the newline.
[[nodiscard]] std::string to_json_line(const StepRecord& record);
[[nodiscard]] std::string to_json_line(const EvalRecord& record);
// Empty: it is no line of the file.
[[nodiscard]] std::string to_json_line(const EvalProgress& progress);
[[nodiscard]] std::string to_json_line(const FinalRecord& record);
[[nodiscard]] std::string to_json_line(const ViewRecord& record);
[[nodiscard]] std::string to_json_line(const RunEvent& event);

}  // namespace shoal
