// Plans the runs of an experiment: which it needs, in which order, and which of them are already there.
//
// The commands of a plan are also a file in its folder: an experiment that was interrupted goes on when the same
// commands are asked for again, and a folder with other commands is left alone. Otherwise a table could compare runs
// that do not belong together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/experiment/experiment.h"
#include "runtime/experiment/run_outcome.h"

namespace shoal {

struct ExperimentOrder {
  Experiment experiment;
  std::string folder;
  std::optional<std::uint64_t> steps;  // instead of the experiment's own, of every arm
  std::vector<std::string> settings;   // a person's own, of every arm; they win
};

struct PlannedRun {
  std::string arm;
  std::string directory;
  std::vector<std::string> settings;  // KEY=VALUE; the last of equal keys wins
  std::uint64_t steps = 0;
};

// Returns the runs in the experiment's order.
[[nodiscard]] std::vector<PlannedRun> planned_runs(const ExperimentOrder& order);

// "shoal train --set 'k=v' ... --out DIR", one line each: what a person would type.
[[nodiscard]] std::string commands_text(const std::vector<PlannedRun>& runs);

// Errors: kUsage, when the folder's commands are there and are others.
[[nodiscard]] Status check_same_commands(const std::optional<std::string>& there, const std::string& asked,
                                         const std::string& folder);

// Names what an arm of this configuration cannot show; empty: there is no such thing.
[[nodiscard]] std::string warning_about(const std::string& arm, const Config& config);

enum class RunState { kToStart, kToResume, kFinished };

// has_config: the run's directory holds a configuration, so that a run was started there.
[[nodiscard]] RunState state_of(const PlannedRun& run, bool has_config, const RunOutcome& outcome);

// Returns the arguments of `shoal`, after the program's own name.
[[nodiscard]] std::vector<std::string> arguments_of(const PlannedRun& run, RunState state);

}  // namespace shoal
