// Reads, draws, writes.
#include "launch/commands/inspect/plot.h"

#include <algorithm>
#include <filesystem>

#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "launch/start_run.h"
#include "runtime/base/file.h"
#include "runtime/base/text/shell_word.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

std::string picture_of(const std::string& run_directory) { return (fs::path(run_directory) / "plot.svg").string(); }

std::string last_name(const std::string& directory) {
  const fs::path path = fs::absolute(directory).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// A run as it is drawn; a person hears of lines that are left out. Errors: those of read_run_series(); kUsage: it is
// not there.
Result<RunSeries> read_run(const std::string& directory, const std::string& name) {
  if (Status there = check_is_there(directory); !there) return there.failure();
  const std::string lines = RunDirectory{directory}.metrics();
  auto run = read_run_series(lines);
  if (!run) return run.failure();
  run->name = name;
  if (run->damaged.count > 0) say("warning: ", lines, ": ", text_of(run->damaged));
  return run;
}

Status draw_into(const std::string& file, const std::vector<RunSeries>& runs, PlotAxis axis) {
  return replace_file(file, draw(learning_chart(runs, axis)));
}

}  // namespace

std::vector<std::string> names_in_picture(const std::vector<std::string>& run_directories) {
  std::vector<std::string> names;
  for (const std::string& directory : run_directories) names.push_back(last_name(directory));
  const std::vector<std::string> short_names = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(short_names, short_names[i]) > 1) names[i] = run_directories[i];
  }
  return names;
}

Result<PlotOptions> plot_options(const Options& options) {
  PlotOptions plot;
  plot.run_directories = options.positionals();
  const bool is_one = plot.run_directories.size() == 1;
  plot.out = options.value("--out").value_or(is_one ? picture_of(plot.run_directories.front()) : "plot.svg");
  const std::string word = options.value("--x").value_or("steps");
  const auto axis = plot_axis_named(word);
  if (!axis) return fail(Error::kUsage, "--x " + word + ": steps, tokens and time are known");
  plot.axis = *axis;
  return plot;
}

Result<int> run_plot(const PlotOptions& options) {
  std::vector<RunSeries> runs;
  const auto names = names_in_picture(options.run_directories);
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto run = read_run(options.run_directories[i], names[i]);
    if (!run) return run.failure();
    runs.push_back(std::move(*run));
  }
  if (auto drawn = draw_into(options.out, runs, options.axis); !drawn) return drawn.failure();
  print(options.out, "\n");
  return 0;
}

void draw_at_end(const std::string& run_directory) {
  const auto run = read_run(run_directory, last_name(run_directory));
  if (!run || run->steps.empty()) return;
  const std::string file = picture_of(run_directory);
  const auto drawn = draw_into(file, {*run}, PlotAxis::kSteps);
  if (drawn) return say("picture: ", file);
  say("warning: no picture: ", drawn.failure().message, "; draw one with: shoal plot ", shell_word(run_directory),
      " --out FILE");
}

}  // namespace shoal
