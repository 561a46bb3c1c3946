// Records what `shoal train --single` leaves and shows: metrics.jsonl, and the progress lines that a person watches.
// Both have the form that they have in every other run.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/trace/metrics/metrics_outbox.h"

namespace shoal {

struct RecorderSettings {
  std::string path;  // metrics.jsonl, appended to
  std::function<void(const MetricsOutput&)> show;
};

class SingleRecorder {
 public:
  // Errors: kIo when the file cannot be opened.
  [[nodiscard]] static Result<SingleRecorder> open(RecorderSettings settings);

  // A line that cannot be written waits until it can; that is said, and does not stop training.
  void write(const MetricsOutput& output);
  // Writes a summary, then the failure.
  void write_failure(const RunEvent& failed);
  // Writes a summary, then the record with what the lines say: goodput, and what was trained in vain.
  void write_last(FinalRecord record);

 private:
  explicit SingleRecorder(RecorderSettings settings);

  RecorderSettings settings_;
  MetricsOutbox outbox_;
};

}  // namespace shoal
