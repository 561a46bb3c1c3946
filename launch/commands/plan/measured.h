// A run as planning commands take it for a measure: its configuration, and what its steps took.
// Reads config.toml and metrics.jsonl of its directory.
#pragma once

#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/plan/measured_run.h"

namespace shoal {

struct MeasuredRun {
  Config config;  // has one stage of one replica where a process trained alone (--single) in place of a pipeline
  MeasuredStep step;
  double replicas = 0;  // that computed a step, of all stages together: a median
};

// Errors: those of read_run_config(), kIo, and kInvalidData when no step has times, naming the file.
[[nodiscard]] Result<MeasuredRun> measured_run(const std::string& directory);

}  // namespace shoal
