// One process at a time writes metrics.jsonl: what cannot be said now is left for the next start (unwritten_events.h).
#include "launch/processes/spawner/metrics_wiring.h"

#include <utility>

#include "launch/life_line.h"
#include "launch/processes/progress.h"
#include "launch/processes/unwritten_events.h"
#include "launch/say.h"
#include "launch/stop_signals.h"
#include "model/layer_list.h"
#include "runtime/base/file.h"
#include "runtime/pipeline/schedule.h"

namespace shoal {

std::shared_ptr<Told> told_before(const RunDirectory& run, const Config& config) {
  auto told = std::make_shared<Told>();
  if (config.sync.mode != SyncMode::kDiloco) return told;
  auto file = open_input(run.metrics());
  told->rounds = std::make_shared<RoundTally>(file ? LossesBefore(std::move(*file)) : LossesBefore());
  return told;
}

std::optional<BranchRecord> newest_told(const RunDirectory& run) {
  auto told = branches_told_by(run.metrics());
  return told.empty() ? std::nullopt : std::optional(std::move(told.front()));
}

std::function<void(const MetricsOutput&)> watched_progress(const SupervisorConfig& core, const Config& config,
                                                           std::shared_ptr<Told> told) {
  return [show = make_progress(core.steps_target, config), told = std::move(told)](const MetricsOutput& output) {
    show(output);
    if (std::holds_alternative<StepRecord>(output)) tell_keeper(LifeReached::kWork);
    const auto* event = std::get_if<RunEvent>(&output);
    if (event != nullptr && event->kind == RunEventKind::kFailed) told->failure = true;
    if (told->rounds) told->rounds->add(output);
  };
}

int tell_end(const RunDirectory& run, int status, const std::string& reason, bool has_told_failure) {
  const bool is_failure = status != 0 && !is_saved_status(status);
  if (!is_failure || has_told_failure) return status;
  say("error: ", reason);
  const RunEvent failed{RunEventKind::kFailed, "run", reason, steps_told_by(run).steps};
  const auto left = leave_unwritten(run, failed, SteadyClock().wall_now());
  if (!left) say("warning: ", left.failure().message);
  return status;
}

MetricsSettings metrics_settings(const RunDirectory& directory, const OpenedRun& run, const RouterActor& router) {
  MetricsSettings settings;
  settings.core.sequences_per_step = static_cast<std::uint32_t>(run.config.batch.sequences);
  settings.core.tokens_per_step = planned_tokens(run.config);
  settings.core.microbatches = static_cast<std::uint32_t>(microbatches_per_step(run.config));
  settings.core.has_rounds = run.config.sync.mode == SyncMode::kDiloco;
  settings.core.multiply_adds = training_multiply_adds(model_layers(run.config.model));
  settings.path = directory.metrics();
  settings.live_after = run.journal->last_position();
  settings.router = router;
  return settings;
}

}  // namespace shoal
