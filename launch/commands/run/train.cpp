// `shoal train`: a whole run on this machine. Keeps one spawner keeper and the node keepers, which keep the rest.
#include <filesystem>

#include "launch/commands/run/devices.h"
#include "launch/commands/run/keepers.h"
#include "launch/commands/run/run_entry.h"
#include "launch/keeper.h"
#include "launch/open_files.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "launch/stop_signals.h"
#include "runtime/base/machine/bf16_units.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/balance/rebalance_control.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/device/nccl/nccl_library.h"
#include "runtime/executor/poison_hook.h"
#include "runtime/transport/revocation/revocation_book.h"

namespace shoal {
namespace {

void add_steps(std::vector<std::string>& arguments, const TrainOptions& options) {
  if (options.stop_at_step) arguments.insert(arguments.end(), {"--steps", compose(*options.stop_at_step)});
}

Ward spawner_keeper_ward(const TrainOptions& options, const ChosenRun& chosen) {
  Ward ward;
  ward.name = "spawner";
  ward.role = WardRole::kLeader;
  auto& arguments = ward.program.arguments;
  arguments = {
      program_folder() + "/shoal", "internal-keep-spawner", "--run", chosen.directory, "--listen", "127.0.0.1:0"};
  add_steps(arguments, options);
  ward.again = ward.program;
  ward.again->arguments.push_back("--restarted");
  if (chosen.is_resumed) arguments.push_back("--resumed");
  ward.stop_option = "--stopping";
  ward.limits.finality = Finality::kEveryCode;
  return ward;
}

Ward node_ward(const RunDirectory& run, const SpawnerAddress& spawner, std::uint64_t number,
               const std::vector<std::string>& devices) {
  Ward ward;
  ward.name = compose("node", number);
  ward.role = WardRole::kFollower;
  ward.program = {{program_folder() + "/shoal", "node", "--join", host_port_text(spawner.control), "--token",
                   "@" + run.join_token(), "--name", ward.name, "--keep-in", run.certs(), "--trace", run.root.string(),
                   "--no-stream"},
                  run.log_of(ward.name)};
  if (!devices.empty()) {
    const std::string& device = devices[(number - 1) % devices.size()];
    ward.program.arguments.insert(ward.program.arguments.end(), {"--device", device});
  }
  ward.limits.finality = Finality::kEveryCode;
  return ward;
}

// Starts the nodes as soon as the spawner says where it listens. A name that was thrown out for good stays out: of a
// run that is resumed, another node takes its place.
Result<bool> start_nodes(Keeper& keeper, const RunDirectory& run, std::uint64_t count,
                         const std::vector<std::string>& devices) {
  const auto spawner = read_spawner_json(run);
  if (!spawner || !std::filesystem::exists(run.join_token())) return false;
  const auto revoked = load_revocations(run.revoked());
  if (!revoked) return revoked.failure();
  std::uint64_t started = 0;
  for (std::uint64_t number = 1; started < count; ++number) {
    if (revoked->is_revoked(compose("node", number))) continue;
    if (auto status = keeper.add(node_ward(run, *spawner, number, devices)); !status) return status.failure();
    ++started;
  }
  return true;
}

std::uint64_t nodes_of(const TrainOptions& options, const Config& config) {
  return options.nodes.value_or(
      replicas_wanted(config.pipeline).total(static_cast<std::uint32_t>(config.pipeline.stages)));
}

// Counts the processes that are kept, too: the system counts a process as a thread.
std::size_t threads_of_run(std::uint64_t nodes) {
  return kThreadsOfKeeper + kThreadsOfSpawner + kThreadsOfStorage + nodes * (kThreadsOfKeeper + kThreadsOfWorker);
}

// was_asked: becomes true where a signal asked it to end.
Result<int> keep_run(const TrainOptions& options, const ChosenRun& chosen, bool& was_asked) {
  const RunDirectory run{chosen.directory};
  const auto& pipeline = chosen.config.pipeline;
  const ReplicasWanted replicas = replicas_wanted(pipeline);
  const std::uint64_t wanted = replicas.total(static_cast<std::uint32_t>(pipeline.stages));
  const auto nodes = nodes_of(options, chosen.config);
  if (nodes < wanted && !chosen.config.swarm.share_devices) {
    say("warning: ", counted(static_cast<std::uint64_t>(pipeline.stages), "stage"), " of ",
        replicas.is_listed() ? replicas.text() + " replicas" : counted(replicas.most(), "replica") + " each", " need ",
        counted(wanted, "node"), ", and --nodes ", nodes,
        " starts fewer: the run waits until others join (`shoal node`)");
  }
  say_warning(idle_devices_warning(options.devices, nodes));
  set_spawner_json_aside(run);
  KeeperTimes times{std::chrono::seconds(3), std::chrono::seconds(10)};
  times.coming_up += std::chrono::seconds(15);  // the keeper of the spawner gives up before
  Keeper keeper(times);
  if (auto status = keeper.add(spawner_keeper_ward(options, chosen)); !status) return status.failure();
  keeper.poll(
      [run, nodes, devices = options.devices](Keeper& asked) { return start_nodes(asked, run, nodes, devices); });
  auto code = keeper.run();
  was_asked = keeper.first_signal() != 0;
  return code;
}

// The run is finished and saved, whatever becomes of the sample: a signal cuts it short and nothing else.
void show_sample(const ChosenRun& chosen) {
  if (!has_reader()) return;
  say("a sample of what it learnt:");
  Ward ward;
  ward.name = "sample";
  ward.program = {{program_folder() + "/shoal-worker", "sample", chosen.directory}, {}};
  ward.limits.finality = Finality::kEveryCode;
  ward.limits.budget = 0;
  Keeper keeper({Duration::zero(), std::chrono::seconds(3)});
  const auto added = keeper.add(std::move(ward));
  const auto code = added ? keeper.run() : added.failure();
  if (!code) say("warning: no sample: ", code.failure().message);
}

Failure become_single(const TrainOptions& options, const ChosenRun& chosen) {
  std::vector<std::string> arguments = {program_folder() + "/shoal-worker", "single", "--run", chosen.directory};
  add_steps(arguments, options);
  if (chosen.is_resumed) arguments.push_back("--resumed");
  if (!options.devices.empty()) arguments.insert(arguments.end(), {"--device", options.devices.front()});
  block_stop_signals();  // until the program is there that finishes a step for them
  return execute(arguments, BlockedSignals::kWait);
}

// Devices as they are, and the options that a person gives again to go on with the same.
Result<TrainOptions> with_devices_settled(const TrainOptions& given) {
  TrainOptions options = given;
  auto devices = settle_devices(given.devices, ask_gpu_driver);
  if (!devices) return devices.failure();
  options.devices = *devices;
  if (options.is_single && options.devices.size() > 1) {
    return fail(Error::kUsage, "train: --single runs on one device, and there are several; name one, as in cuda:0");
  }
  return options;
}

// Threads are asked for before anything is written.
Status check_threads(const TrainOptions& options, const Config& config) {
  if (options.is_single) return check_thread_room(threads_to_compute(static_cast<std::size_t>(config.run.threads)));
  if (auto status = check_open_files(open_files_allowed()); !status) return status;
  return check_thread_room(threads_of_run(nodes_of(options, config)));
}

// Some of what the run is computed on is this machine's processor. A GPU's units are asked about with its executor.
bool has_processor(const std::vector<std::string>& devices) {
  const auto is_gpu = [](const std::string& device) { return device.starts_with("cuda:"); };
  return devices.empty() || !std::ranges::all_of(devices, is_gpu);
}

bool sums_on_processors() {
  const auto library = open_nccl();
  return library && (*library)->sums_host_memory();
}

std::string choices_again(const TrainOptions& given) {
  std::string words = steps_words(given.stop_at_step);
  if (given.nodes) words += compose(" --nodes ", *given.nodes);
  for (const std::string& device : given.devices) words += " --device " + device;
  return words;
}

}  // namespace

Result<int> run_train(const TrainOptions& given) {
  end_at_stop_signals();
  outlive_readers();
  if (const auto poison = poison_from_environment(); !poison) return poison.failure();
  if (const auto control = rebalance_control_from_environment(); !control) return control.failure();
  const auto settled = with_devices_settled(given);
  if (!settled) return settled.failure();
  const TrainOptions& options = *settled;
  auto chosen = choose_run(options.run, surroundings_here());
  if (!chosen) return chosen.failure();
  if (options.is_single && chosen->config.sync.mode == SyncMode::kDiloco) {
    return fail(Error::kUsage,
                "--single trains one copy of the model, and sync.mode = \"diloco\" needs several; set "
                "sync.mode=every_step for the reference");
  }
  const bool computes_here = options.is_single || options.nodes != 0U;
  if (computes_here && has_processor(options.devices)) {
    if (auto status = check_precision(chosen->config.model); !status) return status.failure();
  }
  const bool needs_gpus = computes_here && !options.is_single && chosen->config.sync.backend == SyncBackend::kNccl;
  if (needs_gpus) {
    if (auto status = check_collective_devices(options.devices, sums_on_processors); !status) return status.failure();
  }
  if (auto status = check_threads(options, chosen->config); !status) return status.failure();
  if (!options.is_single) {
    if (auto status = check_sums_can_travel(chosen->config); !status) return status.failure();
  }
  const auto hold = enter_run(*chosen, options.stop_at_step);
  if (!hold) return hold.failure();
  if (options.is_single) {
    hold->keep_across_exec();
    return become_single(options, *chosen);
  }
  block_stop_signals();  // keepers take them; between the two they wait
  bool was_asked = false;
  const auto code = keep_run(options, *chosen, was_asked);
  draw_finished(chosen->directory, code, was_asked);
  if (code && *code == 0) show_sample(*chosen);
  if (code) say_how_to_go_on("shoal train" + choices_again(given), chosen->directory, *code);
  return code;
}

}  // namespace shoal
