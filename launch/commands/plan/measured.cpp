// Names the file in which no step has times.
#include "launch/commands/plan/measured.h"

#include "launch/processes/run_directory.h"
#include "runtime/base/file.h"

namespace shoal {

Result<MeasuredRun> measured_run(const std::string& directory) {
  const auto config = read_run_config(directory);
  if (!config) return config.failure();
  const std::string path = RunDirectory{directory}.metrics();
  const auto metrics = read_file(path);
  if (!metrics) return metrics.failure();
  const auto step = measured_step(*metrics);
  if (!step) return fail(step.failure().error, path + ": " + step.failure().message);
  return MeasuredRun{*config, *step};
}

}  // namespace shoal
