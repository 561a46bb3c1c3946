// What `shoal train --single` leaves and shows: metrics.jsonl, and the lines a person watches.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/trace/progress_line.h"
#include "runtime/trace/step_record.h"

namespace shoal {

struct RecorderSettings {
  std::string path;  // metrics.jsonl, appended to
  std::uint64_t every = 10;
  std::uint64_t steps_target = 0;
};

class SingleRecorder {
 public:
  // Errors: kIo when the file cannot be opened.
  [[nodiscard]] static Result<SingleRecorder> open(RecorderSettings settings);

  // A line that cannot be written is counted, said once, and does not stop training.
  void write(const StepRecord& record);
  void write(const EvalRecord& record);
  void write(const RunEvent& event);
  // Fills in goodput: wall_ms is that of all steps and what came between them.
  void write(FinalRecord record, double wall_ms);

 private:
  explicit SingleRecorder(RecorderSettings settings);
  void append(const std::string& line);

  RecorderSettings settings_;
  ProgressStyle style_;
  std::ofstream file_;
  bool is_lossy_ = false;
  std::uint64_t tokens_ = 0;
  std::vector<double> rates_;  // tokens/s per step of this process, at most kRatesMax
};

}  // namespace shoal
