// `shoal internal-spawner`: the supervisor and everything that lives beside it. Its parts are wired in spawner/; here
// they are started in their order.
#include <unistd.h>

#include "actors/router/io_router.h"
#include "launch/commands/run/processes.h"
#include "launch/life_line.h"
#include "launch/processes/actor_process.h"
#include "launch/processes/links_of_process.h"
#include "launch/processes/ports/own_port.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/spawner/control_wiring.h"
#include "launch/processes/spawner/look_apart.h"
#include "launch/processes/spawner/metrics_wiring.h"
#include "launch/processes/spawner/number_record.h"
#include "launch/processes/spawner/opened_run.h"
#include "launch/processes/spawner/supervisor_wiring.h"
#include "launch/processes/unwritten_events.h"
#include "launch/say.h"
#include "launch/stop_signals.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/heap.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/transport/control/reach.h"
#include "runtime/transport/revocation/revocation_book.h"

namespace shoal {
namespace {

// Holds what every part of the process is wired to.
struct Spawner {
  ActorProcess& process;
  const RunDirectory& directory;
  const OpenedRun& run;
  const SupervisorConfig& core;
  SpawnerPort& port;
  std::shared_ptr<Tracer> trace{};
  RouterActor router{};

  [[nodiscard]] Rendezvous rendezvous() const {
    return {core.run, core.term, kProtocolVersion, std::chrono::milliseconds(run.config.swarm.dead_after_ms)};
  }
};

Result<std::unique_ptr<ActorProcess>> start_process(const RunDirectory& directory, const OpenedRun& run,
                                                    const SupervisorConfig& core, const SpawnerPort& port) {
  return ActorProcess::start({"spawner",
                              port.files,
                              core.run,
                              {PeerRole::kNode, PeerRole::kStorage},
                              std::chrono::milliseconds(run.config.swarm.dead_after_ms),
                              true,
                              directory.peer_note_of("spawner"),
                              port.revoked,
                              {},
                              kThreadsOfSpawner});
}

struct RecordWriter {
  static inline const char* name = "record_writer";
  std::string said;  // why it cannot be written
};

// The router must not wait for the disk. What cannot be written is taken up with the next list, some seconds later.
caf::behavior record_writer(caf::stateful_actor<RecordWriter>* self, std::shared_ptr<NumberRecord> record) {
  return {[self, record = std::move(record)](const Tick&) {
    const Status written = record->write();
    const std::string why = written ? std::string() : written.failure().message;
    if (why != std::exchange(self->state.said, why) && !why.empty()) log_warn("spawner", why);
  }};
}

std::function<void(const Peers&)> keep_record(Spawner& spawner) {
  const auto record = std::make_shared<NumberRecord>(spawner.directory.processes());
  const auto writer = spawner.process.system().spawn<caf::detached>(record_writer, record);
  spawner.process.own(writer);
  return [record, writer](const Peers& peers) {
    if (record->take(peers.peers)) caf::anon_send(writer, Tick{});
  };
}

void start_router(Spawner& spawner) {
  ActorProcess& process = spawner.process;
  spawner.trace = process.keep_trace(spawner.directory.root.string(), "spawner", spawner.run.config.trace.level);
  spawner.trace->set_process(kSpawnerProcess, spawner.core.term);
  auto config = router_config(process, ProcessRole::kSpawner, "spawner", spawner.rendezvous());
  config.tracer = spawner.trace;
  config.board = process.board();
  config.numbered = keep_record(spawner);
  spawner.router = spawn_io_router(process.system(), std::move(config));
  process.own_vital(spawner.router, "router");
  process.write_trace(spawner.router);
}

// From here on others reach the router, and the control endpoint, which serves later.
Status open_port(Spawner& spawner) {
  auto endpoint = open_control(spawner.process, spawner.port.people);
  if (!endpoint) return endpoint.failure();
  spawner.port.first_control = std::move(*endpoint);
  const auto published =
      spawner.process.transport().publish(as_actor(spawner.router), std::move(spawner.port.listener));
  if (!published) return published.failure();
  return Done{};
}

// Metrics start before the supervisor: its first words would be lost otherwise.
std::shared_ptr<Told> start_metrics(Spawner& spawner) {
  ActorProcess& process = spawner.process;
  if (const auto told = tell_unwritten(spawner.directory, spawner.run.start, SteadyClock().wall_now()); !told) {
    log_warn("metrics", told.failure().message);
  }
  auto records = metrics_settings(spawner.directory, spawner.run, spawner.router);
  records.board = process.board();
  const auto told = told_before(spawner.directory, spawner.run.config);
  records.show = watched_progress(spawner.core, spawner.run.config, told);
  caf::anon_send(spawner.router, Attach{Role::kMetrics, {}, {}, {}, {}, records.taken});
  process.take_care_of(
      {.name = "metrics",
       .start = [&process, records] { return as_actor(process.system().spawn<caf::detached>(metrics, records)); },
       .router = spawner.router});
  return told;
}

SupervisorActor start_supervisor(Spawner& spawner) {
  ActorProcess& process = spawner.process;
  const auto boss = process.system().spawn<caf::detached>(
      supervisor, supervisor_settings(process, spawner.run, spawner.core, spawner.router, spawner.trace));
  process.own_vital(boss, "supervisor");
  for (const PeerRefused& refusal : process.refusals()) caf::anon_send(boss, Delivered{refusal});
  return boss;
}

void serve_control(Spawner& spawner, const std::shared_ptr<EnrolmentService>& service, const SupervisorActor& boss,
                   const Told& told) {
  ActorProcess& process = spawner.process;
  const auto reach = std::make_shared<ReachService>(
      [context = process.transport().context()](const HostPort& address, const std::string& name) {
        return try_to_reach(address, name, *context);
      });
  ControlSettings settings{nullptr,         service,     boss,  spawner.router,
                           process.board(), told.rounds, reach, newest_told(spawner.directory)};
  process.take_care_of(
      {.name = "control",
       .start = [&process, &port = spawner.port, settings] { return start_control(process, port, settings); },
       .router = spawner.router});
}

Result<int> serve(const RunDirectory& directory, const OpenedRun& run, const SupervisorConfig& core, SpawnerPort port) {
  auto started = start_process(directory, run, core, port);
  if (!started) return started.failure();
  ActorProcess& process = **started;
  port.people.refused = process.refused();
  keep_certificates(process, directory, port);
  Spawner spawner{process, directory, run, core, port};
  start_router(spawner);
  if (auto opened = open_port(spawner); !opened) return opened.failure();
  const auto service = open_enrolment(directory, spawner.rendezvous(), process);
  if (!service) return service.failure();
  const auto told = start_metrics(spawner);
  const auto boss = start_supervisor(spawner);
  serve_control(spawner, *service, boss, *told);
  if (auto written = write_spawner_json(directory, port.found); !written) return written.failure();
  const auto stop = [&boss](const StopOrder& order) {
    caf::anon_send(boss, StopRequest{order.reason, order.exit_status});
  };
  if (core.stopping) stop(*core.stopping);
  tell_keeper(LifeReached::kUp);
  const int status = process.run([&stop](int signal) { stop(stop_order(signal)); });
  return tell_end(directory, status, process.exit()->result()->second, told->failure);
}

// Only where there was a predecessor the port may be free in a moment.
Result<OwnPort> listen_as_told(const SpawnerProcessOptions& options) {
  if (options.is_restarted) return listen_patiently(options.listen);
  auto listener = listen_on(options.listen);
  if (!listener) return listener.failure();
  return OwnPort{std::move(*listener), std::nullopt};
}

// The addresses that others are told. Storage takes the next port where a person chose this one.
Result<SpawnerAddress> address_of(const SpawnerProcessOptions& options, const OwnPort& port, RunId id) {
  const HostPort address{options.listen.host, local_port(port.listener.descriptor())};
  SpawnerAddress found{address, static_cast<std::uint64_t>(::getpid()), run_text(id)};
  if (!options.is_announced) return found;
  const auto storage = with_port_after(address, 1);
  if (!storage) return storage.failure();
  found.storage = *storage;
  return found;
}

}  // namespace

Result<int> run_spawner_process(const SpawnerProcessOptions& options) {
  block_signals();
  keep_one_heap();
  const RunDirectory directory{options.run_directory};
  const auto authority = Authority::open(directory.certs());
  if (!authority) return authority.failure();
  const RunId id = authority->run();
  const TlsFiles files = credential_files(directory.certs(), "spawner");
  const auto revoked = load_revocations(directory.revoked());
  if (!revoked) return revoked.failure();
  if (const auto usable = TlsContext::mutual(files, PeerPolicy{}); !usable) return usable.failure();
  const auto refused = std::make_shared<RevokedCertificates>();
  refused->take(revoked->list(), std::chrono::steady_clock::now());
  const PeerPolicy people{id, {PeerRole::kNode, PeerRole::kStorage, PeerRole::kOperator}, {}, {}, refused};
  auto port = listen_as_told(options);
  if (!port) return port.failure();
  if (port->signal) return stop_order(*port->signal).exit_status;
  const auto found = address_of(options, *port, id);
  if (!found) return found.failure();
  const auto run = open_run(directory, options, id);
  if (!run) return run.failure();
  const LogTarget log{directory.log_of("spawner"), log_level_named(run->config.log.level), false};
  if (auto opened = open_log(log); !opened) return opened.failure();
  say("run ", run->config.run.name.empty() ? directory.root.filename().string() : run->config.run.name);
  const auto status = serve(directory, *run, supervisor_config(*run, options, id),
                            SpawnerPort{files, people, std::move(port->listener), *found, refused});
  if (status) end_beside_look(*status);
  return status;
}

}  // namespace shoal
