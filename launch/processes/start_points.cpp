// A person is told which checkpoint it is, and which ones were passed over.
#include "launch/processes/start_points.h"

#include "launch/say.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/trace/metrics/metrics_file.h"

namespace shoal {
namespace {

StartPoint start_of(const CheckpointManifest& manifest) {
  return {manifest.step, manifest.optimizer_step, true, manifest.weights_sha256};
}

std::optional<CheckpointManifest> newest_manifest(const SavedStates& saved) {
  const auto folder = saved.run.checkpoints(saved.config);
  for (const std::uint64_t step : list_checkpoints(folder)) {
    const std::string path = (checkpoint_folder(folder, step) / "manifest.json").string();
    const auto text = read_file(path);
    if (!text) continue;
    if (auto manifest = parse_checkpoint_manifest(*text, path)) return std::move(*manifest);
  }
  return std::nullopt;
}

// Lines that only a spawner writes.
bool tells_of_entries(const RunDirectory& run) {
  const auto lines = read_file(run.metrics());
  return lines && lines->find("\"event\":\"view\"") != std::string::npos;
}

}  // namespace

Status check_journal(const SavedStates& saved, JournalStore& journal) {
  const std::string path = saved.run.journal();
  if (journal.last_position().value == 0) {
    if (!tells_of_entries(saved.run)) return Done{};
    return fail(Error::kInvalidData, compose(path, " is empty or was gone, and ", saved.run.metrics(),
                                             " tells of its entries; restore it from a copy, with its -wal file"));
  }
  const auto manifest = newest_manifest(saved);
  if (!manifest || manifest->run != run_text(saved.id) || manifest->step == 0) return Done{};
  const WrittenStep newest{Branch{manifest->branch}, StepId{manifest->step - 1}};
  if (commit_told_by(saved.run.metrics(), newest) <= journal.last_position()) return Done{};
  return fail(Error::kInvalidData, compose(path, " ends before the checkpoint after ", manifest->step,
                                           " steps, whose entries it had; restore it from a copy, with its -wal file"));
}

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
  const auto manifest = newest_manifest(saved);
  return manifest ? start_of(*manifest) : StartPoint{};
}

}  // namespace shoal
