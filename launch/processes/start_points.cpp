// A person is told which checkpoint it is, and which ones were passed over.
#include "launch/processes/start_points.h"

#include "launch/say.h"
#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_reader.h"

namespace shoal {
namespace {

StartPoint start_of(const CheckpointManifest& manifest) {
  return {manifest.step, manifest.optimizer_step, true, manifest.weights_sha256};
}

}  // namespace

Result<StartPoint> find_start_point(const SavedStates& saved, std::uint64_t not_beyond) {
  auto found = find_checkpoint(saved.run.checkpoints(saved.config), run_text(saved.id), std::nullopt, not_beyond);
  if (!found) return found.failure();
  for (const auto& reason : found->skipped) say("passed over a checkpoint: ", reason);
  if (!found->checkpoint) {
    say("no checkpoint yet: starting from the beginning");
    return StartPoint{};
  }
  const CheckpointManifest& manifest = found->checkpoint->manifest();
  if (manifest.corpus_sha256 != saved.corpus_sha256) {
    return fail(Error::kInvalidData, compose("the checkpoint after ", manifest.step,
                                             " steps was trained on another text, or with another tokenizer, "
                                             "than [data] names now"));
  }
  say("going on after step ", manifest.step);
  return start_of(manifest);
}

StartPoint newest_start_point(const SavedStates& saved) {
  const auto folder = saved.run.checkpoints(saved.config);
  for (const std::uint64_t step : list_checkpoints(folder)) {
    const std::string path = (checkpoint_folder(folder, step) / "manifest.json").string();
    const auto text = read_file(path);
    if (!text) continue;
    if (const auto manifest = parse_checkpoint_manifest(*text, path)) return start_of(*manifest);
  }
  return {};
}

}  // namespace shoal
