// `shoal experiment NAME`: trains every arm of an experiment, one after the other, and writes its table and picture.
// What is run, and what is made of it, is decided in runtime/experiment; the experiments are in launch/experiments.
#pragma once

#include <string>
#include <vector>

#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/experiment/experiment_plan.h"

namespace shoal {

struct ExperimentOptions {
  ExperimentOrder order;
  std::vector<std::string> devices;  // of each command, as a person names them; empty: processors
  std::string command;               // as it was given
  bool is_dry = false;               // print the commands, start nothing
};

[[nodiscard]] Result<ExperimentOptions> experiment_options(const Options& options);

// Returns the commands as a person would type them, one a line; devices: what each of them names.
[[nodiscard]] std::string commands_on(const std::vector<std::string>& devices, const std::vector<PlannedRun>& runs);
// Returns the arguments of `shoal` with which a run starts or goes on there.
[[nodiscard]] std::vector<std::string> arguments_on(const std::vector<std::string>& devices, const PlannedRun& run,
                                                    RunState state);

// 0 when all arms are finished; otherwise the status of the run that was not, and the same command goes on.
// Errors: kUsage where this machine lacks a device, before anything is written.
[[nodiscard]] Result<int> run_experiment(const ExperimentOptions& options);

}  // namespace shoal
