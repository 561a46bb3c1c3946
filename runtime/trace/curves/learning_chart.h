// Runs side by side in one picture: loss with both kinds of evaluation, throughput, and what happened to them.
//
// Pure. Losses far above what a run began with (training that diverges) are drawn at the edge of the picture, and a
// note says how many and how large: a scale that reaches them would show nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/drawing/stacked_chart.h"
#include "runtime/trace/curves/run_series.h"

namespace shoal {

enum class PlotAxis : std::uint8_t { kSteps, kTokens, kTime };

// "steps", "tokens", "time".
[[nodiscard]] std::optional<PlotAxis> plot_axis_named(std::string_view word);

// The part of the losses that is shown.
struct LossRange {
  double low = 0;
  double high = 1;
  std::uint64_t beyond = 0;  // losses above it
  double largest = 0;        // the largest of them
};
// `begun`: the first losses of the runs. What is not finite counts nothing.
[[nodiscard]] LossRange loss_range(const std::vector<double>& losses, const std::vector<double>& begun);

// `runs`: at least one, each with a name of its own.
[[nodiscard]] StackedChart learning_chart(const std::vector<RunSeries>& runs, PlotAxis axis);

}  // namespace shoal
