// `shoal experiment NAME`: trains every arm of an experiment, one after the other, and writes its table and picture.
// What is run, and what is made of it, is decided in runtime/experiment; the experiments are in launch/experiments.
#pragma once

#include <string>

#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/experiment/experiment_plan.h"

namespace shoal {

struct ExperimentOptions {
  ExperimentOrder order;
  std::string command;  // as it was given
  bool is_dry = false;  // print the commands, start nothing
};

[[nodiscard]] Result<ExperimentOptions> experiment_options(const Options& options);

// 0 when all arms are finished; otherwise the status of the run that was not, and the same command goes on.
[[nodiscard]] Result<int> run_experiment(const ExperimentOptions& options);

}  // namespace shoal
