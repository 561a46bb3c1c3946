// An experiment's answer: a table in Markdown and a picture, published figures beside the measured ones.
//
// Perplexities of different tokens and texts cannot be compared. What can is how much one arm's differs from another's
// of the same experiment, so that each side has its own difference. Arms that are not finished have no figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/drawing/chart.h"
#include "runtime/experiment/experiment.h"
#include "runtime/experiment/run_outcome.h"

namespace shoal {

struct ExperimentAnswer {
  Experiment experiment;
  std::uint64_t steps = 0;           // steps of each arm
  std::string command;               // the command that was given
  std::vector<RunOutcome> outcomes;  // one per arm, in their order
};

[[nodiscard]] std::string markdown_of(const ExperimentAnswer& answer, const std::string& picture_name);
[[nodiscard]] Chart chart_of(const ExperimentAnswer& answer);

}  // namespace shoal
