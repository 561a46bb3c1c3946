// Names the file in which no step has times.
#include "launch/commands/plan/measured.h"

#include "launch/processes/run_directory.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {

Result<MeasuredRun> measured_run(const std::string& directory) {
  const auto config = read_run_config(directory);
  if (!config) return config.failure();
  const std::string path = RunDirectory{directory}.metrics();
  StepTimesReader reader;
  const auto read = read_metrics_lines(path, [&reader](std::string_view line) { reader.add(line); });
  if (!read) return read.failure();
  const auto step = reader.measured();
  if (!step) return fail(step.failure().error, path + ": " + step.failure().message);
  return MeasuredRun{*config, *step};
}

}  // namespace shoal
