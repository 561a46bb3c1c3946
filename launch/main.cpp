// `shoal`: every subcommand that needs no torch, and the way to shoal-worker for those that do. Starts in milliseconds.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "launch/arguments.h"
#include "launch/child_process.h"
#include "launch/commands/data/data.h"
#include "launch/commands/inspect/plot.h"
#include "launch/commands/inspect/trace.h"
#include "launch/commands/plan/asked_config.h"
#include "launch/commands/plan/experiment.h"
#include "launch/commands/plan/plan.h"
#include "launch/commands/plan/simulate.h"
#include "launch/commands/plan/simulate_step.h"
#include "launch/commands/plan/simulate_swarm.h"
#include "launch/completion.h"
#include "launch/inherited.h"
#include "launch/interface.h"
#include "launch/say.h"
#include "launch/subcommands.h"
#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/config_keys.h"

namespace shoal {
namespace {

using Run = std::function<Result<int>(const Options&)>;

OutputForm form_of(const Options& options) { return options.has("--json") ? OutputForm::kJson : OutputForm::kText; }

Result<int> data_order(const Options& options) {
  const auto steps = options.count("--steps", 1);
  if (!steps) return steps.failure();
  const auto asked = config_of(options);
  if (!asked) return asked.failure();
  say_warning(asked->warning);
  return run_data_order(asked->config, **steps);
}

// A command that computes: options are checked here, then shoal-worker does it with the same arguments.
template <class Checked>
Run in_worker(Result<Checked> (*check)(const Options&), const std::vector<std::string>& words) {
  return [check, words](const Options& options) -> Result<int> {
    if (const auto checked = check(options); !checked) return checked.failure();
    std::vector<std::string> arguments = {program_folder() + "/shoal-worker"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    return execute(arguments);
  };
}

Result<int> run_completion(const Options& options) {
  std::vector<std::string> keys;
  for (const ConfigKey& key : config_keys()) keys.push_back(key.path());
  const auto script = completion_script(*options.positional(0), {commands(), std::move(keys)});
  if (!script) return script.failure();
  print(*script);
  return 0;
}

std::vector<Subcommand> subcommands(const std::vector<std::string>& words) {
  return {
      {&command_named("train"), bind(train_options, run_train)},
      {&command_named("spawner"), bind(spawner_options, run_spawner)},
      {&command_named("node"), bind(node_options, run_node)},
      {&command_named("status"), bind(status_options, run_status)},
      {&command_named("ps"), bind(ps_options, run_ps)},
      {&command_named("logs"), bind(logs_options, run_logs)},
      {&command_named("kill"), bind(kill_options, run_kill)},
      {&command_named("drain"), bind(drain_options, run_drain)},
      {&command_named("checkpoint"), bind(checkpoint_options, run_checkpoint)},
      {&command_named("evict"), bind(evict_options, run_evict)},
      {&command_named("token new"), bind(new_token_options, run_new_token)},
      {&command_named("token ls"), bind(list_tokens_options, run_list_tokens)},
      {&command_named("token revoke"), bind(revoke_token_options, run_revoke_token)},
      {&command_named("chaos"), bind(chaos_options, run_chaos)},
      {&command_named("eval"), in_worker(eval_options, words)},
      {&command_named("sample"), in_worker(sample_options, words)},
      {&command_named("export"), bind(export_options, run_export)},
      {&command_named("import"), bind(import_options, run_import)},
      {&command_named("plot"), bind(plot_options, run_plot)},
      {&command_named("trace export"), bind(trace_export_options, run_trace_export)},
      {&command_named("trace why"), bind(trace_why_options, run_trace_why)},
      {&command_named("trace check"), bind(trace_check_options, run_trace_check)},
      {&command_named("trace summary"), bind(trace_summary_options, run_trace_summary)},
      {&command_named("data fetch"), [](const Options& options) { return run_data_fetch(*options.positional(0)); }},
      {&command_named("data order"), data_order},
      {&command_named("init"), in_worker(init_options, words)},
      {&command_named("plan"), bind(plan_options, run_plan)},
      {&command_named("simulate bandwidth"), bind(simulate_bandwidth_options, run_simulate_bandwidth)},
      {&command_named("simulate step"), bind(simulate_step_options, run_simulate_step)},
      {&command_named("simulate swarm"), bind(simulate_swarm_options, run_simulate_swarm)},
      {&command_named("experiment"), bind(experiment_options, run_experiment)},
      {&command_named("doctor"), bind(doctor_options, run_doctor)},
      {&command_named("version"), [](const Options& options) { return run_version(form_of(options)); }},
      {&command_named("completion"), run_completion},
      {&keep_spawner_command(), bind(keep_spawner_options, keep_spawner)},
      {&spawner_process_command(), bind(spawner_process_options, run_spawner_process)},
      {&storage_process_command(), bind(storage_process_options, run_storage_process)},
  };
}

bool is_not_in_this_version(const std::string& name) {
  return std::ranges::find(commands_not_in_this_version(), name) != commands_not_in_this_version().end();
}

int refuse_unknown(const std::vector<std::string>& words) {
  const std::string& word = words[0];
  const std::string pair = words.size() > 1 ? word + " " + words[1] : word;
  for (const std::string& name : {word, pair})
    if (is_not_in_this_version(name)) return report(fail(Error::kUsage, "shoal " + name + ": not in this version"));
  if (word == "data") return report(fail(Error::kUsage, "shoal data: say `data fetch` or `data order`"));
  if (word == "simulate") {
    return report(fail(Error::kUsage, "shoal simulate: say `simulate bandwidth`, `simulate step` or `simulate swarm`"));
  }
  if (word == "trace") {
    return report(
        fail(Error::kUsage, "shoal trace: say `trace export`, `trace why`, `trace check` or `trace summary`"));
  }
  if (word == "token") {
    return report(fail(Error::kUsage, "shoal token: say `token new`, `token ls` or `token revoke ID`"));
  }
  std::vector<std::string> names;
  for (const auto& command : commands()) names.push_back(command.name);
  return report(fail(Error::kUsage, compose("there is no command '", word, "'", did_you_mean(word, names),
                                            "; `shoal --help` lists them")));
}

bool is_group(const std::string& word) {
  return std::ranges::any_of(commands(), [&](const auto& command) { return command.name.starts_with(word + " "); });
}

int run(std::vector<std::string> words) {
  if (words.empty()) {
    say("error: name a command\n\n", overview());
    return 2;
  }
  if (words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (words[0] == "--help" || words[0] == "-h") {
    print(overview());
    return after_output(0);
  }
  if (words[0] == "--version") words[0] = "version";
  const auto all = subcommands(words);
  const Subcommand* subcommand = take_subcommand(all, words);
  if (subcommand != nullptr) return run_subcommand(*subcommand, words);
  const bool is_about_group = words.size() > 1 && is_group(words[0]) && asks_for_help(words);
  if (!is_about_group || is_not_in_this_version(words[0] + " " + words[1])) return refuse_unknown(words);
  print(overview(words[0]));
  return after_output(0);
}

void blank(char* word) {
  if (*word != '@') std::fill_n(word, std::strlen(word), '.');  // the name of a file is no secret
}

// Hides what follows --token: the words admit a node, and the system shows command lines to every user.
void hide_tokens(std::span<char* const> words) {
  constexpr std::string_view kOption = "--token";
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == kOption && at + 1 < words.size()) blank(words[at + 1]);
    if (word.starts_with(kOption) && word.substr(kOption.size()).starts_with('='))
      blank(words[at] + kOption.size() + 1);
  }
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  shoal::begin_program();
  std::vector<std::string> words(argv + 1, argv + argc);
  shoal::hide_tokens({argv + 1, argv + argc});
  return shoal::run(std::move(words));
}
