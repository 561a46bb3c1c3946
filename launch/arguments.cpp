// Checks what is given to each command before anything is started for it.
#include "launch/arguments.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "launch/commands/plan/asked_config.h"
#include "launch/commands/run/devices.h"
#include "launch/commands/run/node_name.h"
#include "launch/processes/run_directory.h"
#include "runtime/base/compose.h"
#include "runtime/base/time/units.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/data/text.h"
#include "runtime/transport/control/enrolment.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

constexpr auto kFlag = OptionKind::kFlag;
constexpr auto kValue = OptionKind::kValue;
constexpr auto kRequired = OptionKind::kRequired;
constexpr auto kRepeated = OptionKind::kRepeated;

const OptionSpec kRunDirectory{"--run", kRequired, "DIR", "the run directory"};
const OptionSpec kListen{"--listen", kRequired, "HOST:PORT", "where to listen"};
const OptionSpec kSteps{"--steps", kValue, "N", "stop after step N"};
constexpr std::uint64_t kNodesMax = 256;     // each is two processes
constexpr std::uint64_t kThreadsMax = 1024;  // as of run.threads
const OptionSpec kWaitTimeout{"--wait-timeout", kValue, "S",
                              "exit 4 when training has not begun and nodes have been missing for S seconds"};
const OptionSpec kRestarted{"--restarted", kFlag, "", "by its keeper, in the same run"};
const OptionSpec kStopping{"--stopping", kValue, "SIGNAL", "by its keeper, to stop in place of one that was killed"};
const OptionSpec kResumed{"--resumed", kFlag, "", "by a person, with --resume"};

Failure missing(const std::string& what) { return fail(Error::kUsage, what); }

Result<RunChoice> run_choice(const Options& options) {
  const auto from = options.count("--from", 0);
  if (!from) return from.failure();
  const auto branch = branch_wish(options.value("--branch"), *from);
  if (!branch) return branch.failure();
  RunChoice choice{options.positional(0), options.values("--set"), options.value("--out"), options.has("--resume"),
                   options.value("--resume")};
  choice.branch = *branch;
  return choice;
}

Status check_node(const NodeOptions& node) {
  if (node.join.empty()) return missing("node: --join HOST:PORT is missing: the spawner's address");
  if (!node.token && !node.certs)
    return missing("node: give --token T or --certs DIR: what admits this node to the run");
  for (const auto& address : node.join)
    if (const auto parsed = parse_host_port(address); !parsed) return parsed.failure();
  if (node.listen && !node.devices.empty()) {
    const auto last = with_port_after(*node.listen, static_cast<std::uint32_t>(node.devices.size() - 1));
    if (!last) return last.failure();
  }
  if (auto status = check_device_words(node.devices); !status) return status;
  if (auto status = check_shares(node.limits, node.devices.size()); !status) return status;
  if (!is_valid_name(node.name)) {
    return missing("--name " + node.name +
                   ": expected 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit");
  }
  return Done{};
}

}  // namespace

Result<TrainOptions> train_options(const Options& options) {
  const auto steps = options.count("--steps", 1);
  if (!steps) return steps.failure();
  const auto nodes = options.count("--nodes", 1);
  if (!nodes) return nodes.failure();
  const bool is_single = options.has("--single");
  if (*nodes && **nodes > kNodesMax) {
    return missing(compose("train: --nodes ", **nodes, ": at most ", kNodesMax, " processes on one machine"));
  }
  if (is_single && *nodes) return missing("train: --single runs in one process; leave --nodes out");
  auto run = run_choice(options);
  if (!run) return run.failure();
  run->is_single = is_single;
  const auto devices = options.values("--device");
  if (auto status = check_device_words(devices); !status) return status.failure();
  if (is_single && devices.size() > 1) return missing("train: --single runs on one device; give --device once");
  return TrainOptions{std::move(*run), *steps, *nodes, is_single, devices};
}

Result<SpawnerOptions> spawner_options(const Options& options) {
  SpawnerOptions spawner;
  auto run = run_choice(options);
  if (!run) return run.failure();
  spawner.run = std::move(*run);
  if (const auto address = options.value("--listen")) {
    const auto listen = parse_host_port(*address);
    if (!listen) return listen.failure();
    spawner.listen = *listen;
  }
  const auto steps = options.count("--steps", 1);
  if (!steps) return steps.failure();
  const auto timeout = options.seconds("--wait-timeout", 0);
  if (!timeout) return timeout.failure();
  spawner.stop_at_step = *steps;
  spawner.wait_timeout_s = *timeout;
  return spawner;
}

Result<NodeOptions> node_options(const Options& options) {
  NodeOptions node;
  node.join = options.values("--join");
  node.token = options.value("--token");
  node.certs = options.value("--certs");
  if (const auto address = options.value("--listen")) {
    const auto listen = parse_host_port(*address);
    if (!listen) return listen.failure();
    node.listen = *listen;
  }
  node.devices = options.values("--device");
  if (node.devices.empty()) node.devices = {"cpu"};
  node.name = options.value("--name").value_or(usual_node_name(node.certs));
  const auto threads = options.count("--threads", 1, kThreadsMax);
  if (!threads) return threads.failure();
  const auto grace = options.seconds("--grace", 0);
  if (!grace) return grace.failure();
  node.threads = *threads;
  const auto limits = node_limits_of(options);
  if (!limits) return limits.failure();
  node.limits = *limits;
  node.grace_s = grace->value_or(node.grace_s);
  node.keep_in = options.value("--keep-in");
  node.trace = options.value("--trace");
  node.streams = !options.has("--no-stream");
  if (auto status = check_node(node); !status) return status.failure();
  return node;
}

namespace {

Result<RunLocator> locator_of(const Options& options) {
  RunLocator where;
  if (const auto address = options.value("--spawner")) {
    const auto spawner = parse_host_port(*address);
    if (!spawner) return spawner.failure();
    if (!options.has("--certs")) return missing("--spawner needs --certs DIR: the operator's certificate");
    where.spawner = *spawner;
    where.certs = *options.value("--certs");
    std::error_code unknown;
    if (std::filesystem::is_directory(where.certs, unknown)) return where;
    return missing("--certs " + where.certs + ": there is no such folder; it is the folder certs of the run directory");
  }
  if (options.has("--certs")) return missing("--certs goes with --spawner HOST:PORT");
  const auto directory = named_or_newest_run(options.value("--run"), surroundings_here().folder);
  if (!directory) return directory.failure();
  return RunLocator{*directory, std::nullopt, *directory + "/certs"};
}

OutputForm form_of(const Options& options) { return options.has("--json") ? OutputForm::kJson : OutputForm::kText; }

}  // namespace

Result<StatusOptions> status_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  return StatusOptions{*where, form_of(options)};
}

Result<PsOptions> ps_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  return PsOptions{*where, form_of(options)};
}

Result<DoctorOptions> doctor_options(const Options& options) {
  DoctorOptions doctor{options.has("--json") ? OutputForm::kJson : OutputForm::kText, std::nullopt};
  if (const auto address = options.value("--join")) {
    const auto join = parse_host_port(*address);
    if (!join) return join.failure();
    doctor.join = *join;
  }
  return doctor;
}

Result<LogsOptions> logs_options(const Options& options) {
  const auto directory = named_or_newest_run(options.value("--run"), surroundings_here().folder);
  if (!directory) return directory.failure();
  return LogsOptions{*directory, *options.positional(0), options.has("--follow")};
}

Result<KillOptions> kill_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  const auto how = parse_how(options.value("--how").value_or("exit"));
  if (!how) return missing("--how " + how.failure().message);
  return KillOptions{*where,
                     {OperatorVerb::kKill, *options.positional(0), how->how, how->freeze_ms, "shoal kill", false}};
}

Result<DrainOptions> drain_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  return DrainOptions{*where,
                      {OperatorVerb::kDrain, *options.positional(0), InjectKind::kExit, 0, "shoal drain", false}};
}

Result<CheckpointOptions> checkpoint_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  const auto timeout = options.seconds("--wait-timeout", 0);
  if (!timeout) return timeout.failure();
  if (*timeout && !options.has("--wait")) return missing("--wait-timeout goes with --wait");
  CheckpointOptions checkpoint{*where, options.has("--wait")};
  checkpoint.timeout_s = timeout->value_or(checkpoint.timeout_s);
  return checkpoint;
}

Result<EvictOptions> evict_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  const bool revoke = options.has("--revoke");
  const char* const reason = revoke ? "shoal evict --revoke" : "shoal evict";
  return EvictOptions{*where, {OperatorVerb::kEvict, *options.positional(0), InjectKind::kExit, 0, reason, revoke}};
}

Result<NewTokenOptions> new_token_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  const auto uses = options.count("--uses", 1, std::numeric_limits<std::uint32_t>::max());
  if (!uses) return uses.failure();
  const auto most = static_cast<double>(kTokenLifetimeMax.count()) / kSecondsPerHour;
  const auto hours = options.number("--hours", 1 / kSecondsPerHour, most);
  if (!hours) return hours.failure();
  const double seconds = hours->value_or(std::chrono::hours(kUsualTokenLifetime).count()) * kSecondsPerHour;
  return NewTokenOptions{*where,
                         {std::chrono::seconds(std::llround(seconds)), static_cast<std::uint32_t>(uses->value_or(0))}};
}

Result<ListTokensOptions> list_tokens_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  return ListTokensOptions{*where, form_of(options)};
}

Result<RevokeTokenOptions> revoke_token_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  return RevokeTokenOptions{*where, *options.positional(0)};
}

Result<ChaosOptions> chaos_options(const Options& options) {
  const auto where = locator_of(options);
  if (!where) return where.failure();
  const auto every = options.seconds("--every", 0.01);
  const auto duration = options.seconds("--for", 0);
  const auto seed = options.count("--seed", 0);
  if (!every) return every.failure();
  if (!duration) return duration.failure();
  if (!seed) return seed.failure();
  std::string kinds;
  for (const std::string& kind : options.values("--kinds")) kinds += (kinds.empty() ? "" : ",") + kind;
  for (const std::string& kind : chaos_kinds()) {
    if (!options.has("--kinds")) kinds += (kinds.empty() ? "" : ",") + kind;
  }
  const auto parsed = parse_chaos_kinds(kinds);
  if (!parsed) return missing("--kinds: " + parsed.failure().message);
  ChaosOptions chaos{*where, every->value_or(10), *duration, {}};
  chaos.chaos = {seed->value_or(std::random_device{}()), *parsed};
  return chaos;
}

Result<EvalOptions> eval_options(const Options& options) {
  const auto step = options.count("--step", 0);
  if (!step) return step.failure();
  const auto batches = options.count("--batches", 1, std::numeric_limits<int>::max());
  if (!batches) return batches.failure();
  if (const auto data = options.value("--data")) {
    if (auto status = check_kind_of_text("--data " + *data, "", *data); !status) return status.failure();
  }
  EvalOptions eval{*options.positional(0), *step, options.value("--data"), static_cast<int>(batches->value_or(0)),
                   form_of(options)};
  eval.device = options.value("--device").value_or(eval.device);
  if (auto status = check_device_words({eval.device}); !status) return status.failure();
  return eval;
}

Result<SampleOptions> sample_options(const Options& options) {
  SampleOptions sample;
  sample.run_directory = *options.positional(0);
  sample.prompt = options.value("--prompt").value_or(sample.prompt);
  if (sample.prompt.empty())
    return missing(
        "--prompt is empty, and a model goes on from one token at least; without --prompt that is a newline");
  const auto step = options.count("--step", 0);
  const auto tokens = options.count("--tokens", 1);
  const auto temperature = options.number("--temperature", 0);
  const auto top_k = options.count("--top-k", 0);
  const auto seed = options.count("--seed", 0);
  for (const auto* count : {&step, &tokens, &top_k, &seed})
    if (!*count) return count->failure();
  if (!temperature) return temperature.failure();
  sample.step = *step;
  sample.tokens = tokens->value_or(sample.tokens);
  sample.temperature = temperature->value_or(sample.temperature);
  constexpr std::uint64_t kTokensMax = std::numeric_limits<int>::max();  // no vocabulary has more: all of them
  sample.top_k = std::min(top_k->value_or(sample.top_k), kTokensMax);
  sample.seed = seed->value_or(sample.seed);
  sample.device = options.value("--device").value_or(sample.device);
  if (auto status = check_device_words({sample.device}); !status) return status.failure();
  return sample;
}

Result<ExportOptions> export_options(const Options& options) {
  const std::string to = *options.value("--to");
  const auto step = options.count("--step", 0);
  if (!step) return step.failure();
  return ExportOptions{*options.positional(0), to, *step};
}

Result<ImportOptions> import_options(const Options& options) {
  const std::string to = *options.value("--to");
  RunChoice run;
  run.config = options.positional(1);
  run.sets = options.values("--set");
  run.out = to;
  run.out_option = "--to";
  return ImportOptions{*options.positional(0), run};
}

Result<InitOptions> init_options(const Options& options) {
  const std::string out = *options.value("--out");
  auto asked = config_of(options);
  if (!asked) return asked.failure();
  return InitOptions{std::move(asked->config), out, std::move(asked->warning)};
}

const CommandSpec& keep_spawner_command() {
  static const CommandSpec command{"internal-keep-spawner",
                                   "Keeps the spawner process and storage of a prepared run directory.",
                                   {},
                                   {kRunDirectory, kListen, kSteps, kWaitTimeout, kRestarted, kResumed, kStopping},
                                   ""};
  return command;
}

const CommandSpec& spawner_process_command() {
  static const CommandSpec command{"internal-spawner",
                                   "The spawner process.",
                                   {},
                                   {kRunDirectory,
                                    kListen,
                                    kSteps,
                                    kWaitTimeout,
                                    kRestarted,
                                    kResumed,
                                    kStopping,
                                    {"--announced", kFlag, "", "a person chose the port: storage takes the next one"},
                                    {"--own-nodes", kFlag, "", "its nodes are started with it; more are spares"}},
                                   ""};
  return command;
}

const CommandSpec& storage_process_command() {
  static const CommandSpec command{"internal-storage", "The storage process.", {}, {kRunDirectory}, ""};
  return command;
}

const CommandSpec& worker_node_command() {
  static const CommandSpec command{"node",
                                   "One worker of a node.",
                                   {},
                                   {{"--join", kRepeated, "HOST:PORT", "the spawner's address"},
                                    {"--token", kValue, "T", "the join token, or @FILE"},
                                    {"--certs", kValue, "DIR", "certificates instead of a token"},
                                    {"--keep", kValue, "DIR", "where the certificate that a token brings is kept"},
                                    {"--listen", kValue, "HOST:PORT", "where it listens"},
                                    {"--device", kValue, "D", "cpu, cuda:N, or paced:MS"},
                                    {"--device-index", kValue, "N", "number of the worker in its node"},
                                    {"--keeper", kValue, "N", "number of its keeper, the same for all its starts"},
                                    {"--machine", kValue, "N", "number of the machine beneath its node; 0: not known"},
                                    {"--name", kValue, "NAME", "of the node"},
                                    {"--threads", kValue, "N", "compute threads per stage"},
                                    {"--memory", kValue, "B", "what it gives"},
                                    {"--limit-up", kValue, "R", "what it sends at most, in bit/s"},
                                    {"--limit-down", kValue, "R", "what it receives at most, in bit/s"},
                                    {"--trace", kValue, "DIR", "the worker's trace goes to DIR/trace"},
                                    {"--stream", kValue, "DIR", "send log and trace to the run, by way of DIR"},
                                    {"--note", kValue, "FILE", "what it computes, for its next start after a crash"}},
                                   ""};
  return command;
}

const CommandSpec& single_command() {
  static const CommandSpec command{
      "single",
      "The whole run in one process.",
      {},
      {kRunDirectory, kSteps, kResumed, {"--device", kValue, "D", "cpu, cuda:N, or paced:MS"}},
      ""};
  return command;
}

Result<KeepSpawnerOptions> keep_spawner_options(const Options& options) {
  const auto process = spawner_process_options(options);
  if (!process) return process.failure();
  KeepSpawnerOptions keep;
  keep.run_directory = process->run_directory;
  keep.listen = process->listen;
  keep.is_restarted = process->is_restarted;
  keep.is_resumed = process->is_resumed;
  keep.join_line = JoinLine::kOmit;
  keep.stop_at_step = process->stop_at_step;
  keep.wait_timeout_s = process->wait_timeout_s;
  keep.stopping = process->stopping;
  return keep;
}

Result<SpawnerProcessOptions> spawner_process_options(const Options& options) {
  const std::string run = *options.value("--run");
  const std::string address = *options.value("--listen");
  const auto listen = parse_host_port(address);
  if (!listen) return listen.failure();
  const auto steps = options.count("--steps", 1);
  if (!steps) return steps.failure();
  const auto timeout = options.seconds("--wait-timeout", 0);
  if (!timeout) return timeout.failure();
  const auto stopping = options.count("--stopping", 1);
  if (!stopping) return stopping.failure();
  SpawnerProcessOptions process{run,      *listen,   options.has("--restarted"), options.has("--resumed"),  *steps,
                                *timeout, *stopping, options.has("--announced"), options.has("--own-nodes")};
  // A restarted spawner listens where the nodes of its run look for it.
  const auto known = read_spawner_json(RunDirectory{run});
  if (process.is_restarted && process.listen.port == 0 && known) process.listen.port = known->control.port;
  return process;
}

Result<StorageProcessOptions> storage_process_options(const Options& options) {
  const std::string run = *options.value("--run");
  return StorageProcessOptions{run};
}

Result<WorkerNodeOptions> worker_node_options(const Options& options) {
  WorkerNodeOptions worker;
  for (const auto& address : options.values("--join")) {
    const auto parsed = parse_host_port(address);
    if (!parsed) return parsed.failure();
    worker.join.push_back(*parsed);
  }
  worker.token = options.value("--token");
  if (const auto address = options.value("--listen")) {
    const auto listen = parse_host_port(*address);
    if (!listen) return listen.failure();
    worker.listen = *listen;
  }
  worker.certs = options.value("--certs");
  worker.keep = options.value("--keep");
  if (worker.token && !worker.keep) return missing("node: --token brings a certificate; --keep DIR says where it lies");
  worker.device = options.value("--device").value_or(worker.device);
  worker.name = options.value("--name").value_or(usual_node_name(worker.certs));
  for (auto [option, number] : {std::pair{"--device-index", &worker.device_index}, {"--keeper", &worker.keeper}}) {
    const auto count = options.count(option, 0);
    if (!count) return count.failure();
    *number = static_cast<std::uint32_t>(count->value_or(0));
  }
  const auto machine = options.count("--machine", 0);
  if (!machine) return machine.failure();
  worker.machine = machine->value_or(0);
  const auto threads = options.count("--threads", 1, kThreadsMax);
  if (!threads) return threads.failure();
  if (*threads) worker.threads = static_cast<int>(**threads);
  const auto limits = node_limits_of(options);
  if (!limits) return limits.failure();
  worker.limits = *limits;
  worker.trace = options.value("--trace");
  worker.stream = options.value("--stream");
  worker.note = options.value("--note");
  return worker;
}

Result<SingleOptions> single_options(const Options& options) {
  const auto steps = options.count("--steps", 1);
  if (!steps) return steps.failure();
  return SingleOptions{*options.value("--run"), options.has("--resumed"), *steps,
                       options.value("--device").value_or("cpu")};
}

}  // namespace shoal
