// Every run is a child under a keeper: a first signal goes to it alone, so that it saves, and ends the experiment. One
// that comes between two of them ends it, too.
#include "launch/commands/plan/experiment.h"

#include <signal.h>

#include <filesystem>

#include "launch/child_process.h"
#include "launch/commands/run/devices.h"
#include "launch/experiments/diloco_swarm.h"
#include "launch/keeper.h"
#include "launch/say.h"
#include "launch/stop_signals.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/gpu_driver.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/experiment/experiment_report.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

std::optional<std::string> text_if_there(const std::string& path) {
  const auto text = read_file(path);
  return text ? std::optional(*text) : std::nullopt;
}

RunOutcome outcome_there(const PlannedRun& run) {
  OutcomeReader reader;
  (void)read_metrics_lines(run.directory + "/metrics.jsonl", [&reader](std::string_view line) { reader.add(line); });
  return reader.outcome();
}

RunState state_there(const PlannedRun& run) {
  return state_of(run, std::filesystem::exists(run.directory + "/config.toml"), outcome_there(run));
}

// All of them before the first is started: a bad value should not be found after hours. Warns of arms that cannot show
// anything.
Status check_settings(const std::vector<PlannedRun>& runs) {
  for (const PlannedRun& run : runs) {
    const auto config = load_config({std::nullopt, {}, run.settings});
    if (!config) return fail(config.failure().error, run.arm + ": " + config.failure().message);
    if (const std::string warning = warning_about(run.arm, *config); !warning.empty()) say("warning: ", warning);
  }
  return Done{};
}

// The folder, with the commands in it; refuses one with others.
Status prepare_folder(const std::string& folder, const std::string& commands) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Error::kIo, "cannot make " + folder + ": " + error.message());
  const std::string file = folder + "/commands.txt";
  const auto there = text_if_there(file);
  if (const auto same = check_same_commands(there, commands, folder); !same) return same;
  return there ? Status(Done{}) : replace_file(file, commands);
}

// Runs it to its end. Returns its exit status, or that of a signal that came while it ended by itself or had not begun.
Result<int> train(const std::vector<std::string>& devices, const PlannedRun& run, RunState state) {
  const auto program = [&](RunState as) {
    ChildProgram child{{program_folder() + "/shoal"}, run.directory + ".log"};
    for (const std::string& word : arguments_on(devices, run, as)) child.arguments.push_back(word);
    return child;
  };
  Ward ward;
  ward.name = run.arm;
  ward.role = WardRole::kLeader;
  ward.program = program(state);
  ward.again = program(RunState::kToResume);
  ward.limits.finality = Finality::kEveryCode;
  Keeper keeper({});
  if (const auto added = keeper.add(std::move(ward)); !added) return added.failure();
  const auto code = keeper.run();
  const int signal = keeper.first_signal();
  if (!code || signal == 0 || keeper.was_pressed()) return code;
  const bool has_nothing_to_save = *code == 0 || *code == 128 + signal;
  return has_nothing_to_save ? saved_status(signal) : *code;
}

Status write_answer(const ExperimentOptions& options, const std::vector<PlannedRun>& runs) {
  const Experiment& experiment = options.order.experiment;
  ExperimentAnswer answer{experiment, runs.front().steps, options.command, {}};
  for (const PlannedRun& run : runs) answer.outcomes.push_back(outcome_there(run));
  const std::string picture = experiment.name + ".svg";
  const std::string table = markdown_of(answer, picture);
  print(table);
  const std::string stem = options.order.folder + "/" + experiment.name;
  if (const auto written = replace_file(stem + ".svg", draw(chart_of(answer))); !written) return written;
  if (const auto written = replace_file(stem + ".md", table); !written) return written;
  say("wrote ", stem, ".md and ", stem, ".svg");
  return Done{};
}

std::string command_of(const Options& options) {
  std::string text = "shoal experiment " + *options.positional(0);
  for (const char* name : {"--preset", "--steps"}) {
    if (const auto value = options.value(name)) text += " " + std::string(name) + " " + shell_word(*value);
  }
  for (const std::string& setting : options.values("--set")) text += " --set " + shell_word(setting);
  return text;
}

}  // namespace

std::vector<std::string> arguments_on(const std::vector<std::string>& devices, const PlannedRun& run, RunState state) {
  std::vector<std::string> words = arguments_of(run, state);
  for (const std::string& device : devices) words.insert(words.end(), {"--device", device});
  return words;
}

std::string commands_on(const std::vector<std::string>& devices, const std::vector<PlannedRun>& runs) {
  std::string options;
  for (const std::string& device : devices) options += " --device " + shell_word(device);
  std::string text;
  for (const PlannedRun& run : runs) {
    const std::string line = commands_text({run});
    text += line.substr(0, line.size() - 1) + options + "\n";
  }
  return text;
}

Result<ExperimentOptions> experiment_options(const Options& options) {
  const std::string word = options.value("--preset").value_or("cpu");
  if (word != "cpu" && word != "gpu") return fail(Error::kUsage, "experiment: --preset " + word + ": cpu or gpu");
  const ExperimentPreset preset = word == "cpu" ? ExperimentPreset::kCpu : ExperimentPreset::kGpu;
  const auto experiment = experiment_named(*options.positional(0), preset);
  if (!experiment) return experiment.failure();
  const auto steps = options.count("--steps", 1);
  if (!steps) return steps.failure();
  for (const std::string& setting : options.values("--set")) {
    if (key_of_set(setting) == "run.steps") return fail(Error::kUsage, "experiment: say --steps N for " + setting);
  }
  ExperimentOptions out;
  out.order.experiment = *experiment;
  out.order.folder = options.value("--out").value_or("experiments/" + experiment->name + "-" + word);
  out.order.steps = *steps;
  out.order.settings = options.values("--set");
  out.devices = devices_of(preset);
  out.command = command_of(options);
  out.is_dry = options.has("--dry-run");
  return out;
}

Result<int> run_experiment(const ExperimentOptions& options) {
  const auto runs = planned_runs(options.order);
  const std::string commands = commands_on(options.devices, runs);
  if (!options.is_dry) {
    if (const auto there = settle_devices(options.devices, ask_gpu_driver); !there) return there.failure();
  }
  if (const auto valid = check_settings(runs); !valid) return valid.failure();
  if (options.is_dry) {
    print(commands);
    return 0;
  }
  if (const auto prepared = prepare_folder(options.order.folder, commands); !prepared) return prepared.failure();
  block_stop_signals();
  std::size_t number = 0;
  for (const PlannedRun& run : runs) {
    if (const int signal = take_stop_signal(); signal > 0) return saved_status(signal);
    number += 1;
    const RunState state = state_there(run);
    const char* const words = state == RunState::kFinished   ? "finished before"
                              : state == RunState::kToResume ? "goes on"
                                                             : "starts";
    say("arm ", number, " of ", runs.size(), ", ", run.arm, ": ", words, "; its words: ", run.directory, ".log");
    if (state == RunState::kFinished) continue;
    const auto code = train(options.devices, run, state);
    if (!code) return code;
    if (*code == 0) continue;
    say(run.arm, " ended with status ", *code, "; the same command goes on from here");
    return code;
  }
  if (const auto written = write_answer(options, runs); !written) return written.failure();
  return 0;
}

}  // namespace shoal
