// `shoal plot`: how runs learnt, as a picture. Reads metrics.jsonl and needs no process of a run.
// A run that ends draws itself in the same way, and never fails because its picture cannot be written.
#pragma once

#include <string>
#include <vector>

#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/trace/curves/learning_chart.h"

namespace shoal {

struct PlotOptions {
  std::vector<std::string> run_directories;  // at least one
  std::string out;
  PlotAxis axis = PlotAxis::kSteps;
};
[[nodiscard]] Result<PlotOptions> plot_options(const Options& options);
// Prints where the picture lies. Errors: those of read_run_series(); kIo, the picture cannot be written.
[[nodiscard]] Result<int> run_plot(const PlotOptions& options);

// The name of each run in a picture: its directory's, or the whole path where two directories have one name.
[[nodiscard]] std::vector<std::string> names_in_picture(const std::vector<std::string>& run_directories);

// Draws RUN/plot.svg at the end of a run and says where it lies, or why it cannot be written and which command draws
// it. Says nothing of a run whose lines tell of no step, or cannot be read.
void draw_at_end(const std::string& run_directory);

}  // namespace shoal
