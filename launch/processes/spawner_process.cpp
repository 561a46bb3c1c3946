// `shoal internal-spawner`: the supervisor and everything that lives beside it.
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>

#include "actors/control.h"
#include "actors/data_loader.h"
#include "actors/metrics.h"
#include "actors/router/io_router.h"
#include "actors/supervisor.h"
#include "actors/sync_group.h"
#include "launch/branches/branch_plan.h"
#include "launch/commands/run/processes.h"
#include "launch/life_line.h"
#include "launch/processes/actor_process.h"
#include "launch/processes/links_of_process.h"
#include "launch/processes/ports/own_port.h"
#include "launch/processes/progress.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/start_points.h"
#include "launch/processes/text_samples.h"
#include "launch/processes/untold.h"
#include "launch/say.h"
#include "launch/stop_signals.h"
#include "model/learning_rate.h"
#include "model/partition.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/journal/store.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/trace/metrics/branch_record.h"
#include "runtime/trace/metrics/metrics_file.h"
#include "runtime/trace/metrics/round_losses.h"
#include "runtime/transport/control/reach.h"
#include "runtime/transport/revocation/revocation_book.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelinkTime = 500ms;  // to dial and greet again next door; two heartbeats may be missed besides
constexpr auto kProbeLimit = 1s;
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

// Everything that is on disk or derived from it before an actor starts.
struct Parts {
  Config config;
  std::string config_toml;
  std::shared_ptr<TextSamples> samples;
  std::shared_ptr<JournalStore> journal;
  Term term;
  StartPoint start;
  SavedStates saved;
  bool is_taken_over = false;  // processes of the run may come back to where it was
};

// Processes that come back have the state of the branch before, where the journal has no entry yet of one that a person
// began.
Result<bool> may_come_back(const RunDirectory& run, JournalStore& journal) {
  const auto newest = newest_branch(journal);
  if (!newest) return newest.failure();
  return *newest >= branch_begun_in(run);
}

Result<std::shared_ptr<JournalStore>> open_or_create(const RunDirectory& run, RunId id) {
  const bool is_told_of = newest_entry_told_by(run.metrics()).value > 0;
  auto journal = open_or_begin_journal(run.journal(), id, is_told_of ? Entries::kExpected : Entries::kUnheardOf);
  if (!journal) return journal.failure();
  if ((*journal)->run() != id) {
    return fail(Error::kInvalidData,
                compose(run.journal(), " is the journal of run ", run_text((*journal)->run()), ", and this is run ",
                        run_text(id), "; restore its own from a copy, with its -wal file"));
  }
  return std::shared_ptr<JournalStore>(std::move(journal.value()));
}

Result<Parts> open_parts(const RunDirectory& run, const SpawnerProcessOptions& options, RunId id) {
  Parts parts;
  const auto text = read_file(run.config());
  if (!text) return text.failure();
  parts.config_toml = text.value();
  const auto config = parse_config(parts.config_toml, run.config());
  if (!config) return config.failure();
  parts.config = config.value();
  auto samples = TextSamples::open(parts.config);
  if (!samples) return samples.failure();
  parts.samples = std::move(samples.value());
  parts.saved = {run, parts.config, id, parts.samples->corpus_sha256()};
  auto journal = open_or_create(run, id);
  if (!journal) return journal.failure();
  parts.journal = journal.value();
  const auto can_return = may_come_back(run, *parts.journal);
  if (!can_return) return can_return.failure();
  parts.is_taken_over = options.is_restarted && *can_return;
  if (parts.is_taken_over) {
    parts.start = newest_start_point(parts.saved);  // read whole only when nobody comes back with more
  } else if (options.is_resumed || options.is_restarted) {
    const auto start = find_start_point(parts.saved, {kAnyStep, true});
    if (!start) return start.failure();
    parts.start = start.value();
    if (auto status = check_steps(options.stop_at_step, parts.start.version); !status) return status.failure();
  }
  if (auto status = check_journal(parts.saved, *parts.journal, options.is_restarted); !status) return status.failure();
  const auto term = parts.journal->begin_term();
  if (!term) return term.failure();
  parts.term = term.value();
  return parts;
}

// Without a limit every node that comes is used, except those that were started to be spares.
std::uint32_t replicas_max(const PipelineConfig& pipeline, const SpawnerProcessOptions& options) {
  if (pipeline.replicas_max > 0) return static_cast<std::uint32_t>(pipeline.replicas_max);
  return options.has_own_nodes ? static_cast<std::uint32_t>(pipeline.replicas) : kNoLimit;
}

StopOrder stop_order(int signal) { return {compose("SIG", ::sigabbrev_np(signal)), "stopped", saved_status(signal)}; }

SupervisorConfig supervisor_config(const Parts& parts, const SpawnerProcessOptions& options, RunId id) {
  const Config& config = parts.config;
  SupervisorConfig out;
  out.run = id;
  out.term = parts.term;
  out.start = parts.start;
  out.stages = static_cast<std::uint32_t>(config.pipeline.stages);
  out.replicas = static_cast<std::uint32_t>(config.pipeline.replicas);
  out.replicas_max = replicas_max(config.pipeline, options);
  constexpr std::size_t kNoBudget = std::numeric_limits<std::size_t>::max();
  const auto budget = static_cast<std::size_t>(config.swarm.restart_budget);
  out.restart_budget = budget == 0 ? kNoBudget : budget;
  out.restart_window =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(config.swarm.restart_window_s));
  out.microbatches = static_cast<std::uint32_t>(microbatches_per_step(config));
  out.steps_target = options.stop_at_step.value_or(config.run.steps);
  out.checkpoint_every = config.checkpoint.every;
  out.newest_is_replaced = config.checkpoint.keep == 1;
  if (const auto plans = partition(config.model, config.pipeline.stages)) {
    for (const StagePlan& plan : *plans) out.state_bytes.push_back(state_bytes(plan, config));
  }
  const bool must_agree = config.sync.reduction == Reduction::kExact && !config.sync.allow_mixed_kernels;
  out.fingerprints = must_agree ? FingerprintRule::kMustAgree : FingerprintRule::kMayDiffer;
  out.policy =
      CommitPolicy{config.optim.clip_norm, [optim = config.optim](std::uint64_t t) { return learning_rate(optim, t); }};
  if (config.sync.mode == SyncMode::kDiloco) {
    const RoundSchedule schedule(config.sync);
    out.rounds_due = [schedule](std::uint64_t version) { return schedule.due_at(version); };
    out.rounds_in_flight = [schedule](std::uint64_t version) { return schedule.in_flight_after(version); };
    out.contributed_at = [schedule](const RoundId& round) { return schedule.contribution_version(round); };
    out.rounds_from = rounds_from(config, branches_told_by(parts.saved.run.metrics()));
    out.quorum = static_cast<std::uint32_t>(config.sync.quorum);
    if (config.sync.requeue_lost) out.requeue_window = schedule.window_max();
  }
  out.config_toml = parts.config_toml;
  out.resume_hint = compose("go on with: shoal train --resume ", shell_word(options.run_directory));
  if (options.stopping) out.stopping = stop_order(static_cast<int>(*options.stopping));
  if (options.wait_timeout_s) {
    out.wait_timeout = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*options.wait_timeout_s));
  }
  out.detector.expected = std::chrono::milliseconds(config.swarm.heartbeat_ms);
  out.detector.dead_after = std::chrono::milliseconds(config.swarm.dead_after_ms);
  // A busy machine may need long for a handshake: a pair has as long as a silent process.
  out.complaints.evict_after = std::max<Duration>(out.complaints.evict_after, out.detector.dead_after);
  // Dialling, two handshakes and joining again are eight round trips, each of which may take half a second.
  out.detector.relink_within = std::max<Duration>(out.detector.dead_after / 2, 2 * out.detector.expected + kRelinkTime);
  out.detector.relink_within = std::min(out.detector.relink_within, out.detector.dead_after);
  if (parts.is_taken_over) out.return_within = out.detector.dead_after;
  return out;
}

DataLoaderSettings loader_settings(const Parts& parts, const SupervisorConfig& supervisor, const RouterActor& router) {
  const Config& config = parts.config;
  DataLoaderSettings settings;
  settings.core.run = supervisor.run;
  settings.core.term = supervisor.term;
  settings.core.stages = supervisor.stages;
  settings.core.microbatches = static_cast<std::uint32_t>(microbatches_per_step(config));
  settings.core.credits = credits_per_first_replica(config);
  settings.core.routing = config.pipeline.routing;
  settings.core.seed = config.run.seed;
  settings.core.target_steps = supervisor.steps_target;
  settings.core.evaluate_every = config.eval.every;
  if (config.sync.mode == SyncMode::kDiloco) settings.core.rounds.emplace(config.sync);
  settings.samples = parts.samples;
  settings.router = router;
  return settings;
}

// Dials once: a detached actor, because a dial waits.
caf::behavior prober(caf::event_based_actor* self) {
  return {[self](const std::string& host, std::uint16_t port) {
    self->quit();
    return refuses({host, port}, std::chrono::steady_clock::now() + kProbeLimit);
  }};
}

// Actors that the supervisor starts and starts again.
SupervisorSettings supervisor_settings(ActorProcess& process, const Parts& parts, const SupervisorConfig& core,
                                       const RouterActor& router, const std::shared_ptr<Tracer>& trace) {
  SupervisorSettings settings;
  settings.tracer = trace;
  settings.board = process.board();
  settings.core = core;
  settings.journal = parts.journal;
  settings.router = router;
  settings.revoked = process.revoked();
  settings.start_group = [&process, core, router, parts, trace](const StartGroup& start) {
    SyncGroupSettings group;
    group.core = {core.run, core.term, start.stage, start.group,
                  static_cast<std::uint32_t>(microbatches_per_step(parts.config))};
    group.core.keeps_sums_apart = parts.config.sync.mode == SyncMode::kDiloco;
    if (group.core.keeps_sums_apart) group.rounds = {core.run, core.term, start.stage, start.group, parts.config.sync};
    group.router = router;
    group.tracer = trace;
    group.board = process.board();
    return caf::actor_cast<caf::actor>(process.system().spawn(sync_group, group));
  };
  settings.start_data_loader = [&process, core, router, parts, trace](const StartDataLoader&) {
    auto loader = loader_settings(parts, core, router);
    loader.tracer = trace;
    loader.board = process.board();
    return caf::actor_cast<caf::actor>(process.system().spawn(data_loader, std::move(loader)));
  };
  settings.find_checkpoint = [parts](const FindCheckpoint& wanted) { return find_start_point(parts.saved, wanted); };
  settings.make_prober = [&process] { return process.system().spawn<caf::detached>(prober); };
  settings.tell = [](const std::string& text) { say(text); };
  settings.leave_untold = [run = parts.saved.run](const RunEvent& event) {
    if (const auto left = leave_untold(run, event, SteadyClock().wall_now()); !left)
      log_warn("supervisor", left.failure().message);
  };
  settings.end_process = [exit = process.exit()](const EndRun& end) {
    using Manner = ExitLatch::Manner;  // what is handed over is nobody's to end politely
    exit->set(end.exit_status, end.reason, end.is_handed_over ? Manner::kAtOnce : Manner::kOrderly);
  };
  return settings;
}

// What is remembered of the lines that metrics has given out.
struct Told {
  std::atomic<bool> failure = false;
  std::shared_ptr<RoundTally> rounds;  // none: the run has no rounds
};

// Those of an earlier life of the run count, too.
std::shared_ptr<Told> told_before(const RunDirectory& run, const Config& config) {
  auto told = std::make_shared<Told>();
  if (config.sync.mode != SyncMode::kDiloco) return told;
  const auto losses = round_losses_in(run.metrics());
  told->rounds = std::make_shared<RoundTally>(losses ? *losses : RoundLosses{});
  return told;
}

// The branch that a person began last, and that the run is on.
std::optional<BranchRecord> newest_told(const RunDirectory& run) {
  auto told = branches_told_by(run.metrics());
  return told.empty() ? std::nullopt : std::optional(std::move(told.front()));
}

// Shows what metrics gives out.
std::function<void(const MetricsOutput&)> watched_progress(const SupervisorConfig& core, const Config& config,
                                                           std::shared_ptr<Told> told) {
  return [show = make_progress(core.steps_target, config), told = std::move(told)](const MetricsOutput& output) {
    show(output);
    if (std::holds_alternative<StepRecord>(output)) tell_keeper(LifeReached::kWork);
    const auto* event = std::get_if<RunEvent>(&output);
    if (event != nullptr && event->event == "failed") told->failure = true;
    if (told->rounds) told->rounds->add(output);
  };
}

// A person reads of a failure that no line of metrics told, because its actor was being started again, say; the line is
// left for the next start.
int tell_end(const RunDirectory& run, int status, const std::string& reason, bool has_told_failure) {
  const bool is_failure = status != 0 && !is_saved_status(status);
  if (!is_failure || has_told_failure) return status;
  say("error: ", reason);
  const RunEvent failed{"failed", "run", reason, steps_told_by(run).steps};
  const auto left = leave_untold(run, failed, SteadyClock().wall_now());
  if (!left) say("warning: ", left.failure().message);
  return status;
}

MetricsSettings metrics_settings(const RunDirectory& run, const Parts& parts, const RouterActor& router) {
  MetricsSettings settings;
  settings.core.sequences_per_step = static_cast<std::uint32_t>(parts.config.batch.sequences);
  settings.core.tokens_per_step = planned_tokens(parts.config);
  settings.core.microbatches = static_cast<std::uint32_t>(microbatches_per_step(parts.config));
  settings.core.has_rounds = parts.config.sync.mode == SyncMode::kDiloco;
  settings.path = run.metrics();
  settings.live_after = parts.journal->last_position();
  settings.router = router;
  return settings;
}

// Names of live nodes are refused at the join; these belong to the run's own processes, or to peers that this process
// refuses, whom a new certificate would not help. refused: by peer_name().
Status name_allowed(const std::string& name, const std::set<std::string>& refused) {
  if (refused.contains(peer_name({{}, PeerRole::kNode, name}))) {
    return fail(Error::kRefused, compose("the name '", name, "' is refused: what its node sent has made the spawner ",
                                         "crash twice; choose another with --name"));
  }
  if (name != "spawner" && name != "storage" && name != "operator") return Done{};
  return fail(Error::kRefused,
              "the name '" + name + "' is kept for the run's own processes; choose another with --name");
}

// The desk that admits newcomers, and the token of the line to paste.
Result<std::shared_ptr<EnrolmentDesk>> open_desk(const RunDirectory& run, const Rendezvous& rendezvous,
                                                 const ActorProcess& process) {
  auto authority = Authority::open(run.certs());
  if (!authority) return authority.failure();
  EnrolmentHooks hooks;
  hooks.rendezvous = [rendezvous] { return rendezvous; };
  hooks.name_allowed = [refused = process.refused()](const std::string& name) { return name_allowed(name, refused); };
  hooks.now = [] { return std::chrono::system_clock::now(); };
  hooks.revoked = process.revoked();
  EnrolmentFiles files{run.tokens(), run.revoked(), run.issued(), run.join_token()};
  auto desk = EnrolmentDesk::open(std::move(authority.value()), std::move(files), std::move(hooks));
  if (!desk) return desk.failure();
  if (auto kept = (*desk)->keep_standing_token(); !kept) return kept.failure();
  return std::shared_ptr<EnrolmentDesk>(std::move(desk.value()));
}

// Where others reach this process, and with what it proves who it is.
struct Door {
  TlsFiles files;
  PeerPolicy people;  // of the control endpoint
  Socket listener;    // until the transport has it
  SpawnerAddress found;
  std::shared_ptr<RevokedCertificates> revoked;
  std::shared_ptr<ControlServer> first_control{};  // from the opening of the port on, until the first actor has it
};

// A control endpoint that has what comes to the port from now on; before it serves, that waits.
Result<std::shared_ptr<ControlServer>> open_control(ActorProcess& process, const PeerPolicy& people) {
  auto made = ControlServer::create(people);
  if (!made) return made.failure();
  const std::shared_ptr<ControlServer> server = std::move(*made);
  process.transport().set_control([weak = std::weak_ptr(server)](TlsSocket session) {
    if (const auto there = weak.lock()) there->take(std::move(session));
  });
  return server;
}

// The first control actor has the endpoint that was opened with the port; a later one opens its own.
caf::actor start_control(ActorProcess& process, Door& door, ControlSettings settings) {
  settings.server = std::exchange(door.first_control, nullptr);
  if (!settings.server) {
    auto server = open_control(process, door.people);
    if (!server) return log_warn("control", server.failure().message), caf::actor();
    settings.server = std::move(*server);
  }
  return as_actor(process.system().spawn<caf::detached>(control, std::move(settings)));
}

// Those of this process and of the person who gives orders; storage has its own.
void keep_certificates(ActorProcess& process, const RunDirectory& run, const Door& door) {
  const auto sign_as = [run](PeerRole role) {
    return [run, role](const std::string& request) { return sign_own(run, role, request); };
  };
  process.keep_certificate(door.files, sign_as(PeerRole::kSpawner), {process.transport().context()});
  process.keep_certificate(credential_files(run.certs(), "operator"), sign_as(PeerRole::kOperator), {});
}

Result<int> serve(const RunDirectory& run, const Parts& parts, const SupervisorConfig& core, Door door) {
  const std::chrono::milliseconds dead_after(parts.config.swarm.dead_after_ms);
  auto started = ActorProcess::start({"spawner",
                                      door.files,
                                      core.run,
                                      {PeerRole::kNode, PeerRole::kStorage},
                                      dead_after,
                                      true,
                                      run.peer_note_of("spawner"),
                                      door.revoked});
  if (!started) return started.failure();
  ActorProcess& process = **started;
  door.people.refused = process.refused();
  keep_certificates(process, run, door);
  Rendezvous rendezvous{core.run, core.term, kProtocolVersion, dead_after};
  const auto trace = process.keep_trace(run.root.string(), "spawner", parts.config.trace.level);
  trace->set_process(kSpawnerProcess, core.term);
  auto mail_config = router_config(process, ProcessRole::kSpawner, "spawner", rendezvous);
  mail_config.tracer = trace;
  mail_config.board = process.board();
  const auto mail = spawn_io_router(process.system(), std::move(mail_config));
  process.own_vital(mail, "router");
  process.write_trace(mail);
  auto endpoint = open_control(process, door.people);
  if (!endpoint) return endpoint.failure();
  door.first_control = std::move(*endpoint);
  if (const auto port = process.transport().publish(as_actor(mail), std::move(door.listener)); !port) {
    return port.failure();
  }
  const auto desk = open_desk(run, rendezvous, process);
  if (!desk) return desk.failure();
  if (const auto told = tell_untold(run, parts.start, SteadyClock().wall_now()); !told)
    log_warn("metrics", told.failure().message);
  auto records = metrics_settings(run, parts, mail);
  records.board = process.board();
  const auto told = told_before(run, parts.config);
  records.show = watched_progress(core, parts.config, told);
  // What the supervisor says first must not be lost where metrics starts late.
  caf::anon_send(mail, Attach{Role::kMetrics, {}, {}, {}, {}, records.taken});
  process.take_care_of(
      {.name = "metrics",
       .start = [&process, records] { return as_actor(process.system().spawn<caf::detached>(metrics, records)); },
       .router = mail});
  const auto boss =
      process.system().spawn<caf::detached>(supervisor, supervisor_settings(process, parts, core, mail, trace));
  process.own_vital(boss, "supervisor");
  for (const PeerRefused& refusal : process.refusals()) caf::anon_send(boss, refusal);
  const auto reach = std::make_shared<ReachDesk>(
      [context = process.transport().context()](const HostPort& address, const std::string& name) {
        return try_to_reach(address, name, *context);
      });
  ControlSettings desk_of{nullptr, *desk, boss, mail, process.board(), told->rounds, reach,
                          newest_told(run)};
  process.take_care_of({.name = "control",
                        .start = [&process, &door, desk_of] { return start_control(process, door, desk_of); },
                        .router = mail});
  if (auto written = write_spawner_json(run, door.found); !written) return written.failure();
  const auto stop = [&boss](const StopOrder& order) {
    caf::anon_send(boss, StopRequest{order.reason, order.exit_status});
  };
  if (core.stopping) stop(*core.stopping);
  tell_keeper(LifeReached::kUp);
  const int status = process.run([&stop](int signal) { stop(stop_order(signal)); });
  return tell_end(run, status, process.exit()->result()->second, told->failure);
}

// Only where there was a predecessor the port may be free in a moment.
Result<OwnPort> listen_as_told(const SpawnerProcessOptions& options) {
  if (options.is_restarted) return listen_patiently(options.listen);
  auto listener = listen_on(options.listen);
  if (!listener) return listener.failure();
  return OwnPort{std::move(*listener), std::nullopt};
}

}  // namespace

Result<int> run_spawner_process(const SpawnerProcessOptions& options) {
  block_signals();
  keep_one_heap();
  const RunDirectory run{options.run_directory};
  const auto authority = Authority::open(run.certs());
  if (!authority) return authority.failure();
  const RunId id = authority->run();
  const TlsFiles files = credential_files(run.certs(), "spawner");
  const auto revoked = load_revocations(run.revoked());
  if (!revoked) return revoked.failure();
  if (const auto usable = TlsContext::mutual(files, PeerPolicy{}); !usable) return usable.failure();
  const auto refused = std::make_shared<RevokedCertificates>();
  refused->take(revoked->list(), std::chrono::steady_clock::now());
  const PeerPolicy people{id, {PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator}, {}, {}, refused};
  auto port = listen_as_told(options);
  if (!port) return port.failure();
  if (port->signal) return stop_order(*port->signal).exit_status;
  const HostPort address{options.listen.host, local_port(port->listener.descriptor())};
  SpawnerAddress found{address, static_cast<std::uint64_t>(::getpid()), run_text(id)};
  if (options.is_announced) {
    const auto storage = with_port_after(address, 1);
    if (!storage) return storage.failure();
    found.storage = *storage;
  }
  const auto parts = open_parts(run, options, id);
  if (!parts) return parts.failure();
  const LogTarget log{run.log_of("spawner"), log_level_named(parts->config.log.level), false};
  if (auto opened = open_log(log); !opened) return opened.failure();
  say("run ", parts->config.run.name.empty() ? run.root.filename().string() : parts->config.run.name);
  return serve(run, *parts, supervisor_config(*parts, options, id),
               Door{files, people, std::move(port->listener), std::move(found), refused});
}

}  // namespace shoal
