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
  kGpu,  // the published sizes
};

[[nodiscard]] const std::vector<std::string>& experiment_names();

// Errors: kUsage when there is none of that name.
[[nodiscard]] Result<Experiment> experiment_named(const std::string& name, ExperimentPreset preset);

}  // namespace shoal
