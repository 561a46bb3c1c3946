// Turns the configuration's words into the numbers and functions that the cores take.
#include "launch/processes/spawner/supervisor_wiring.h"

#include <csignal>
#include <cstring>
#include <limits>
#include <utility>

#include "actors/data_loader.h"
#include "actors/sync_group.h"
#include "launch/branches/branch_plan.h"
#include "launch/processes/spawner/look_apart.h"
#include "launch/processes/spawner/stage_sizes.h"
#include "launch/processes/unwritten_events.h"
#include "launch/say.h"
#include "runtime/base/log.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/cluster/balance/rebalance_control.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/trace/metrics/branches/branch_record.h"
#include "runtime/transport/control/reach.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelinkTime = 500ms;  // to dial and greet again next door; two heartbeats may be missed besides
constexpr auto kProbeLimit = 1s;
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

// Without a limit every node that comes is used, except those that were started to be spares.
std::uint32_t replicas_max(const PipelineConfig& pipeline, const SpawnerProcessOptions& options) {
  if (pipeline.replicas_max > 0) return static_cast<std::uint32_t>(pipeline.replicas_max);
  return options.has_own_nodes ? 0 : kNoLimit;
}

DataLoaderSettings loader_settings(const OpenedRun& run, const SupervisorConfig& supervisor,
                                   const RouterActor& router) {
  const Config& config = run.config;
  DataLoaderSettings settings;
  settings.core.run = supervisor.run;
  settings.core.term = supervisor.term;
  settings.core.stages = supervisor.stages;
  settings.core.microbatches = static_cast<std::uint32_t>(microbatches_per_step(config));
  settings.core.credits = credits_per_first_replica(config);
  settings.core.credits_most = credits_at_most(config);
  settings.core.routing = config.pipeline.routing;
  settings.core.seed = config.run.seed;
  settings.core.target_steps = supervisor.steps_target;
  settings.core.evaluate_every = config.eval.every;
  if (config.sync.mode == SyncMode::kDiloco) settings.core.rounds.emplace(config.sync);
  settings.samples = run.samples;
  settings.router = router;
  return settings;
}

// Dials once: a detached actor, because a dial waits.
caf::behavior prober(caf::event_based_actor* self) {
  return {[self](const std::string& host, std::uint16_t port) {
    self->quit();
    return refuses({host, port}, deadline_in(kProbeLimit));
  }};
}

}  // namespace

StopOrder stop_order(int signal) {
  return {compose("SIG", ::sigabbrev_np(signal)), RunEventKind::kStopped, saved_status(signal)};
}

SupervisorConfig supervisor_config(const OpenedRun& run, const SpawnerProcessOptions& options, RunId id) {
  const Config& config = run.config;
  SupervisorConfig out;
  out.run = id;
  out.term = run.term;
  out.start = run.start;
  out.stages = static_cast<std::uint32_t>(config.pipeline.stages);
  out.replicas = replicas_wanted(config.pipeline);
  out.replicas_max = replicas_max(config.pipeline, options);
  if (config.swarm.rebalance_every_s > 0) out.rebalance_every = std::chrono::seconds(config.swarm.rebalance_every_s);
  const auto control = rebalance_control_from_environment();  // the command that began the run has read it
  out.rebalance = rule_of_a_run(control ? *control : RebalanceControl::kNone);
  constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();
  const auto budget = static_cast<std::size_t>(config.swarm.restart_budget);
  out.restart_budget = budget == 0 ? kEndless : budget;
  out.restart_window =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(config.swarm.restart_window_s));
  out.microbatches = static_cast<std::uint32_t>(microbatches_per_step(config));
  out.steps_target = steps_target(config, options.stop_at_step);
  out.checkpoint_every = config.checkpoint.every;
  out.newest_is_replaced = config.checkpoint.keep == 1;
  out.threads = static_cast<std::uint32_t>(config.run.threads);
  const StageSizes sizes = stage_sizes(config);
  out.state_bytes = sizes.state_bytes;
  out.needs = sizes.needs;
  for (const StageNeed& need : sizes.needs) out.stage_loads.push_back(need.multiply_adds);
  const bool must_agree = config.sync.reduction == Reduction::kExact && !config.sync.allow_mixed_kernels;
  out.fingerprints = must_agree ? FingerprintRule::kMustAgree : FingerprintRule::kMayDiffer;
  out.precision = config.model.precision;
  out.policy.optim = config.optim;
  if (config.sync.mode == SyncMode::kDiloco) {
    out.rounds.emplace(config.sync);
    out.rounds_from = rounds_from(config, branches_told_by(run.saved.run.metrics()));
    out.quorum = static_cast<std::uint32_t>(config.sync.quorum);
    if (config.sync.requeue_lost) out.requeue_window = out.rounds->window_max();
  }
  out.on_record = run.on_record;
  out.config_toml = run.config_toml;
  out.resume_hint = compose("go on with: shoal train", steps_words(options.stop_at_step), " --resume ",
                            shell_word(options.run_directory));
  out.config_file = shell_word(options.run_directory + "/config.toml");
  if (options.stopping) out.stopping = stop_order(static_cast<int>(*options.stopping));
  if (options.wait_timeout_s) {
    out.wait_timeout = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*options.wait_timeout_s));
  }
  out.share_devices = config.swarm.share_devices;
  out.detector.expected = std::chrono::milliseconds(config.swarm.heartbeat_ms);
  out.detector.dead_after = std::chrono::milliseconds(config.swarm.dead_after_ms);
  // A busy machine may need long for a handshake: a pair has as long as a silent process.
  out.complaints.evict_after = std::max<Duration>(out.complaints.evict_after, out.detector.dead_after);
  // Dialling, two handshakes and joining again are eight round trips, each of which may take half a second.
  out.detector.relink_within = std::max<Duration>(out.detector.dead_after / 2, 2 * out.detector.expected + kRelinkTime);
  out.detector.relink_within = std::min(out.detector.relink_within, out.detector.dead_after);
  if (run.is_taken_over) out.return_within = out.detector.dead_after;
  return out;
}

// Actors that the supervisor starts and starts again.
SupervisorSettings supervisor_settings(ActorProcess& process, const OpenedRun& run, const SupervisorConfig& core,
                                       const RouterActor& router, const std::shared_ptr<Tracer>& trace) {
  SupervisorSettings settings;
  settings.tracer = trace;
  settings.board = process.board();
  settings.core = core;
  settings.journal = run.journal;
  settings.router = router;
  settings.revoked = process.revoked();
  settings.start_group = [&process, core, router, run, trace](const StartGroup& start) {
    SyncGroupSettings group;
    group.core = {core.run, core.term, start.stage, start.group,
                  static_cast<std::uint32_t>(microbatches_per_step(run.config))};
    group.core.keeps_sums_apart = run.config.sync.mode == SyncMode::kDiloco;
    if (group.core.keeps_sums_apart) group.rounds = {core.run, core.term, start.stage, start.group, run.config.sync};
    group.router = router;
    group.tracer = trace;
    group.board = process.board();
    return caf::actor_cast<caf::actor>(process.system().spawn(sync_group, group));
  };
  if (core.rebalance_every) settings.work = std::make_shared<WorkBoard>();
  settings.start_data_loader = [&process, core, router, run, trace, work = settings.work](const StartDataLoader&) {
    auto loader = loader_settings(run, core, router);
    loader.work = work;
    loader.tracer = trace;
    loader.board = process.board();
    return caf::actor_cast<caf::actor>(process.system().spawn(data_loader, std::move(loader)));
  };
  settings.find_checkpoint = [saved = run.saved](const FindCheckpoint& wanted, TellLook tell) {
    look_apart([saved, wanted] { return find_start_point(saved, wanted); }, std::move(tell));
  };
  settings.make_prober = [&process] { return process.system().spawn<caf::detached>(prober); };
  settings.tell = [](const std::string& text) { say(text); };
  settings.leave_unwritten = [directory = run.saved.run](const RunEvent& event) {
    if (const auto left = leave_unwritten(directory, event, SteadyClock().wall_now()); !left)
      log_warn("supervisor", left.failure().message);
  };
  settings.end_process = [exit = process.exit()](const EndRun& end) {
    using Manner = ExitLatch::Manner;  // what is handed over is nobody's to end politely
    exit->set(end.exit_status, end.reason, end.is_handed_over ? Manner::kAtOnce : Manner::kOrderly);
  };
  return settings;
}

}  // namespace shoal
