// The three experiments of DiLoCo-SWARM, as published and scaled to a machine with two cores.
//
// What is published: github.com/mikasenghaas/diloco-swarm, its report and scripts (experiments/experiment1.sh to 3).
#pragma once

#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/experiment/experiment.h"

namespace shoal {

enum class ExperimentPreset {
  kCpu,  // small models, short sequences, as many workers as were published
  kGpu,  // the published sizes, in bf16, on GPUs
};

[[nodiscard]] const std::vector<std::string>& experiment_names();

// Returns what `--device` names in each command of a preset. Empty: the command computes on processors.
[[nodiscard]] std::vector<std::string> devices_of(ExperimentPreset preset);

// Errors: kUsage when there is none of that name.
[[nodiscard]] Result<Experiment> experiment_named(const std::string& name, ExperimentPreset preset);

}  // namespace shoal
