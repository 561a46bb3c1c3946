// Settings in order of weight: the experiment's, the arm's, the number of steps, a person's own.
#include "runtime/experiment/experiment_plan.h"

#include "runtime/base/compose.h"
#include "runtime/base/text/shell_word.h"

namespace shoal {

std::vector<PlannedRun> planned_runs(const ExperimentOrder& order) {
  std::vector<PlannedRun> runs;
  for (const ExperimentArm& arm : order.experiment.arms) {
    PlannedRun run{arm.name, order.folder + "/" + arm.name, order.experiment.settings,
                   order.steps.value_or(order.experiment.steps)};
    run.settings.insert(run.settings.end(), arm.settings.begin(), arm.settings.end());
    run.settings.push_back(compose("run.steps=", run.steps));
    run.settings.insert(run.settings.end(), order.settings.begin(), order.settings.end());
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string commands_text(const std::vector<PlannedRun>& runs) {
  std::string text;
  for (const PlannedRun& run : runs) {
    text += "shoal";
    for (const std::string& word : arguments_of(run, RunState::kToStart)) text += " " + shell_word(word);
    text += "\n";
  }
  return text;
}

Status check_same_commands(const std::optional<std::string>& there, const std::string& asked,
                           const std::string& folder) {
  if (!there || *there == asked) return Done{};
  return fail(Error::kUsage, folder +
                                 "/commands.txt has other commands than were asked for, and its runs would not belong "
                                 "to one table; repeat that command, or give another --out");
}

std::string warning_about(const std::string& arm, const Config& config) {
  if (config.sync.mode != SyncMode::kDiloco || config.run.steps >= config.sync.H) return {};
  return compose(arm, ": ", config.run.steps, " steps are less than one round of sync.H = ", config.sync.H,
                 ": its replicas agree at the end alone");
}

RunState state_of(const PlannedRun& run, bool has_config, const RunOutcome& outcome) {
  if (!has_config) return RunState::kToStart;
  const auto finished = outcome.finished_step;
  return finished && *finished >= run.steps ? RunState::kFinished : RunState::kToResume;
}

std::vector<std::string> arguments_of(const PlannedRun& run, RunState state) {
  if (state != RunState::kToStart) return {"train", "--resume", run.directory};
  std::vector<std::string> words = {"train"};
  for (const std::string& setting : run.settings) words.insert(words.end(), {"--set", setting});
  words.insert(words.end(), {"--out", run.directory});
  return words;
}

}  // namespace shoal
