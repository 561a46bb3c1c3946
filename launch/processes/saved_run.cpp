// Reads what a run left: configuration first, then the newest checkpoint whose every byte is as its manifest says.
#include "launch/processes/saved_run.h"

#include <utility>

#include "launch/processes/run_directory.h"
#include "launch/processes/start_points.h"
#include "launch/say.h"
#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {

Result<SavedRun> open_saved_run(const std::string& run_directory, std::optional<std::uint64_t> step) {
  auto config = read_run_config(run_directory);
  if (!config) return config.failure();
  if (auto status = settle_vocabulary(*config); !status) return status.failure();
  const RunDirectory run{run_directory};
  const auto folder = run.checkpoints(*config);
  auto found = find_checkpoint(folder, id_of(run), step);
  if (!found) return found.failure();
  for (const std::string& reason : found->skipped) say("passed over a checkpoint: ", reason);
  if (!found->checkpoint) {
    if (const auto others = others_checkpoints(run, *config)) return fail(Error::kInvalidData, *others);
    return fail(Error::kInvalidData, compose("no checkpoint in ", folder.string(),
                                             " yet; the first is written after checkpoint.every steps or at the end"));
  }
  return SavedRun{*config, std::move(*found->checkpoint)};
}

}  // namespace shoal
