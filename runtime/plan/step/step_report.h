// Simulated steps for people and for programs.
//
// JSON: {"steps":[{"ms":X,"replicas":[N,..],"microbatches":{"NAME":N,..}}],"moves":N,"median_ms":X,"best_split_ms":X,
// "percent_of_best_split":X,"bound_ms":X,"percent_of_bound":X}; the median is over the steps behind the first two,
// where there are any; the best split is that of whole microbatches over the slowest stage, without links, the bound
// what links allow (step_bound.h): medians over the same steps, each by the speeds at its begin.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/step/step_simulation.h"

namespace shoal {

struct StepReport {
  const StepScene* scene = nullptr;
  std::vector<SimulatedStep> steps;
};

[[nodiscard]] double median_s(const std::vector<SimulatedStep>& steps);
[[nodiscard]] std::string text_of(const StepReport& report);
[[nodiscard]] std::string json_of(const StepReport& report);

}  // namespace shoal
