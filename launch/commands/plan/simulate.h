// `shoal simulate bandwidth`: the published table made again, or the same question for other links, workers and runs.
// What is simulated and how it is told is decided in runtime/plan.
#pragma once

#include <optional>
#include <string>

#include "launch/commands/inspect/inspect.h"
#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/plan/comparison.h"

namespace shoal {

struct SimulateBandwidthOptions {
  std::optional<ComparisonOrder> order;  // absent: the published table
  OutputForm form = OutputForm::kText;
  std::optional<std::string> svg;
};

// Reads the run's files where --run names one.
[[nodiscard]] Result<SimulateBandwidthOptions> simulate_bandwidth_options(const Options& options);
[[nodiscard]] Result<int> run_simulate_bandwidth(const SimulateBandwidthOptions& options);

}  // namespace shoal
