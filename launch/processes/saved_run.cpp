// Reads what a run left: configuration first, then the newest checkpoint whose every byte is as its manifest says.
#include "launch/processes/saved_run.h"

#include <utility>

#include "launch/processes/run_directory.h"
#include "launch/processes/start_points.h"
#include "launch/say.h"

namespace shoal {

Result<SavedRun> open_saved_run(const std::string& run_directory, std::optional<std::uint64_t> step) {
  const auto config = read_run_config(run_directory);
  if (!config) return config.failure();
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
  auto tokenizer = make_tokenizer(config->data.tokenizer);
  if (!tokenizer) return tokenizer.failure();
  if (auto status = check_vocabulary(*config, **tokenizer); !status) return status.failure();
  return SavedRun{*config, std::move(*found->checkpoint), std::move(*tokenizer)};
}

}  // namespace shoal
