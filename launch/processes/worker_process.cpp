// `shoal-worker node`: enrols, joins, and serves one device until the run is over or a signal says leave.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <random>
#include <utility>

#include "actors/node_agent.h"
#include "actors/router/io_router.h"
#include "actors/stage.h"
#include "actors/tracer.h"
#include "launch/child_process.h"
#include "launch/commands/run/device_memory.h"
#include "launch/commands/run/processes.h"
#include "launch/life_line.h"
#include "launch/processes/actor_process.h"
#include "launch/processes/injected_process.h"
#include "launch/processes/links_of_process.h"
#include "launch/processes/ports/own_port.h"
#include "launch/processes/ports/port_check.h"
#include "launch/processes/spawner_dialler.h"
#include "launch/processes/worker/collective_wiring.h"
#include "launch/processes/worker/device_probe.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/available_memory.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/cluster/process_directory.h"
#include "runtime/device/decorators/poisoned_stage_executor.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/device_fault.h"
#include "runtime/device/torch_device.h"
#include "runtime/node/device_end.h"
#include "runtime/pipeline/late/late_runner.h"
#include "runtime/transport/control/answerer.h"
#include "runtime/transport/control/clock_check.h"
#include "runtime/transport/control/control_client.h"
#include "runtime/transport/control/node_certificate.h"
#include "runtime/transport/guard/peer_note.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// Where the spawner is. The certificate is in files_of().
struct Admission {
  Rendezvous rendezvous;
  HostPort control;
};

// Where this process's certificate lies: given by a person, or kept by the keeper from one start to the next.
TlsFiles files_of(const WorkerNodeOptions& options) {
  if (options.certs) return node_files(*options.certs, options.device_index);
  return credential_files(*options.keep, compose("node", options.device_index));
}

Result<Admission> ask_with_certificate(const TlsFiles& files, const HostPort& address) {
  const auto client = ControlClient::create(files, address);
  if (!client) return client.failure();
  const auto rendezvous = client->rendezvous();
  if (!rendezvous) return rendezvous.failure();
  if (auto status = check_protocol(*rendezvous); !status) return status.failure();
  return Admission{rendezvous.value(), address};
}

// Returns the token of `--token T`, or of `--token @FILE`: a secret need not stand in a list of processes.
Result<std::string> token_text(const std::string& word) {
  if (!word.starts_with('@')) return word;
  auto text = read_file(word.substr(1));
  if (!text) return fail(Error::kUsage, "--token " + word + ": " + text.failure().message);
  while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back())) != 0) text->pop_back();
  return text;
}

Result<Admission> ask_with_token(const WorkerNodeOptions& options, const TlsFiles& files, const HostPort& address) {
  const auto text = token_text(*options.token);
  if (!text) return text.failure();
  const auto token = parse_token(*text);
  if (!token) return token.failure();
  const auto enrolled = enrol(address, token.value(), options.name, kProtocolVersion);
  if (!enrolled) return enrolled.failure();
  if (auto kept = write_credentials(files, enrolled->credentials); !kept) return kept.failure();
  return Admission{enrolled->rendezvous, address};
}

// A process that was admitted before has its certificate: the token may have expired since, or its file is gone. Where
// neither is so, a certificate that will not last, or is damaged, is replaced.
Result<Admission> ask_once(const WorkerNodeOptions& options, const HostPort& address) {
  const TlsFiles files = files_of(options);
  const auto usable = ControlClient::create(files, address);
  const bool has_certificate = std::filesystem::exists(files.certificate) && usable;
  if (!has_certificate && std::filesystem::exists(files.certificate)) log_warn(options.name, usable.failure().message);
  const bool is_whole = has_certificate && !needs_renewal(files, std::chrono::system_clock::now());
  const bool is_lasting = options.certs || is_whole;
  if (is_lasting) return ask_with_certificate(files, address);
  auto admission = ask_with_token(options, files, address);
  const bool admits_nobody = !admission && admission.failure().error != Error::kUnreachable;
  if (admits_nobody && has_certificate) return ask_with_certificate(files, address);
  return admission;
}

// Asks every address in turn, for ever: neither an unreachable spawner nor a clock that is wrong ever ends a node.
// Nothing when a signal came meanwhile.
Result<std::optional<Admission>> be_admitted(const WorkerNodeOptions& options) {
  auto pause = 50ms;
  std::string said;
  while (true) {
    for (const HostPort& address : options.join) {
      auto admission = ask_once(options, address);
      if (admission) return std::optional(std::move(admission.value()));
      const auto failure =
          explain_times(admission.failure(), files_of(options), address, std::chrono::system_clock::now());
      if (failure.error != Error::kUnreachable) return failure;
      const std::string& happened = admission.failure().message;  // what explains it tells the time, too
      if (happened == std::exchange(said, happened)) continue;
      log_warn(options.name, failure.message, " Trying again.");
      const auto answerer = who_answers(address);
      const std::string words = answerer ? words_on(*answerer, address, PeerRole::kSpawner) : std::string();
      if (!words.empty()) log_warn(options.name, words, ".");
    }
    if (wait_for_signal(pause)) return std::optional<Admission>();
    pause = std::min(pause * 2, 1000ms);
  }
}

std::uint64_t fresh_nonce(std::uint32_t keeper) {
  std::random_device device;
  return nonce_of_start(keeper == 0 ? device() : keeper, device());
}

// The run is further by this process once a step was applied here.
class TellingExecutor final : public ForwardingStageExecutor {
 public:
  using ForwardingStageExecutor::ForwardingStageExecutor;
  void apply(const UpdateOrder& order) override {
    device_->apply(order);
    tell_keeper(LifeReached::kWork);
  }
};

std::unique_ptr<StageExecutor> with_hooks(std::unique_ptr<StageExecutor> made, LateStageExecutor* late,
                                          const SpawnStage& order) {
  auto telling = std::make_unique<TellingExecutor>(std::move(made));
  const auto poison = poison_from_environment();
  ENSURE(poison.ok(), poison.failure().message);
  const bool is_poisoned =
      *poison && (*poison)->stage == order.stage && (!(*poison)->replica || *(*poison)->replica == order.replica);
  if (!is_poisoned) return telling;
  PoisonedStageExecutor::Injure injure;
  if (late != nullptr) injure = [late](DeviceInjury how) { late->injure(how); };
  return std::make_unique<PoisonedStageExecutor>(std::move(telling), **poison, std::move(injure));
}

using EndProcess = std::function<void(const std::string&)>;

Duration device_patience() {
  const auto asked = device_patience_from_environment();
  ENSURE(asked.ok(), asked.failure().message);
  return *asked ? Duration(**asked) : kDevicePatience;
}

// A processor's jobs end as they are handed in. A GPU's end later, and one that fails ends the process.
std::unique_ptr<JobRunner> make_runner(const ExecutorConfig& wanted, const SpawnStage& order, const TellJobEnd& tell,
                                       const EndProcess& end_process) {
  const auto fits = check_device_memory(wanted);
  ENSURE(fits.ok(), fits.failure().message);
  auto made = make_stage_executor(wanted);
  ENSURE(made.ok(), made.failure().message);
  auto* const late = dynamic_cast<LateStageExecutor*>(made->get());
  auto executor = with_hooks(std::move(*made), late, order);
  if (torch_device(wanted.device).is_cpu()) return run_at_once(std::move(executor));
  LateSettings settings;
  settings.patience = device_patience();
  settings.device_fault = device_fault_of;
  settings.end_process = [end_process, device = wanted.device](const std::string& reason) {
    end_process(compose("device ", device, ": ", reason));
  };
  return run_later(std::move(executor), late, tell, std::move(settings));
}

// Gives the stage what it sums by on its device, if the run wishes for that, or says why it has nothing. A call of the
// library that lasts a minute does not come back, and ends the process.
void add_collective(StageSettings& settings, const std::string& device, const EndProcess& end_process) {
  if (settings.config.sync.backend != SyncBackend::kNccl) return;
  auto wiring = wire_collective(settings.config, device, settings.order.stage, end_process);
  if (!wiring) {
    settings.collective_lack = wiring.failure().message;
    log_warn(compose("stage/", settings.order.stage), "sums go over the ring: ", settings.collective_lack);
    return;
  }
  settings.collective = wiring->offer;
  settings.make_collective = std::move(wiring->make);
}

// A copy and a checkpoint replace whatever the executor is made with.
BeginsWith begins_with(const SpawnStage& order) {
  const bool is_given = order.from_checkpoint || order.donor != Incarnation{};
  return is_given ? BeginsWith::kImage : BeginsWith::kInitialWeights;
}

void tell_planned(const ExecutorConfig& wanted) {
  const auto planned = planned_memory(wanted);
  if (planned) log_info("node_agent", "stage ", wanted.stage, " is planned on ", wanted.device, " with ", *planned);
}

// P-25c. Memory and rates are of this worker alone: its keeper has dealt out the node's. What lies beneath it is its
// machine's whole memory, for the workers of all nodes there: what is free changes with whatever ends and starts.
MachineOffer offer_of(const WorkerNodeOptions& options, DeviceProbe& probe) {
  MachineOffer offer;
  const auto pace_ms = pace_ms_of(options.device);
  const bool is_on_gpu = !torch_device(options.device).is_cpu();
  if (pace_ms) offer.forward_us = static_cast<std::uint64_t>(std::llround(std::max(*pace_ms * 1e3, 1.0)));
  offer.multiply_adds_s = probe.multiply_adds_s(Precision::kFp32);
  offer.is_gpu = is_on_gpu;
  offer.threads = is_on_gpu ? 1 : static_cast<std::uint32_t>(options.threads.value_or(0));
  const auto free_bytes = is_on_gpu ? free_device_memory(options.device) : available_memory();
  offer.memory_bytes = memory_offered(options.limits, free_bytes);
  offer.host_bytes = whole_memory().value_or(0);
  offer.machine = options.machine;
  offer.up_bit_s = options.limits.up_bit_s.value_or(0);
  offer.down_bit_s = options.limits.down_bit_s.value_or(0);
  return offer;
}

std::shared_ptr<WorkNote> open_note(const WorkerNodeOptions& options) {
  return options.note ? std::make_shared<WorkNote>(*options.note) : std::make_shared<WorkNote>();
}

NodeAgentSettings agent_settings(const WorkerNodeOptions& options, ActorProcess& process, const RouterActor& router,
                                 const Endpoint& endpoint, const std::shared_ptr<Tracer>& trace) {
  NodeAgentSettings settings;
  Join& join = settings.join;
  join.name = options.name;
  join.device = options.device;
  join.device_index = options.device_index;
  join.nonce = fresh_nonce(options.keeper);
  join.endpoint = endpoint;
  join.pid = static_cast<std::uint64_t>(::getpid());
  const auto probe = std::make_shared<DeviceProbe>(options.device);
  join.offer = offer_of(options, *probe);
  join.fingerprint.text = device_fingerprint(options.device, 1);  // threads are compared with the run's at the Welcome
  settings.router = router;
  settings.tracer = trace;
  settings.board = process.board();
  settings.refusals = process.refusals();
  settings.threads = options.threads;
  settings.note = open_note(options);
  settings.meter = std::make_shared<DeviceMeter>(SteadyClock().now(), memory_of(options.device));
  settings.start_stage = [&process, router, options, trace, probe, note = settings.note, meter = settings.meter](
                             const SpawnStage& order, const Config& run, const Welcome& welcome) {
    Config config = run;
    if (options.threads) config.run.threads = *options.threads;
    StageSettings stage_settings;
    stage_settings.order = order;
    stage_settings.config = config;
    stage_settings.run = welcome.run;
    stage_settings.term = welcome.term;
    stage_settings.process = welcome.process;
    stage_settings.router = router;
    stage_settings.tracer = trace;
    stage_settings.board = process.board();
    stage_settings.note = note;
    const ExecutorConfig wanted{config,         order.stage,       config.pipeline.stages,
                                options.device, Answering::kLater, begins_with(order)};
    tell_planned(wanted);
    stage_settings.on_device = stage_on_device(wanted, *probe);
    stage_settings.on_device.meter = meter;
    const EndProcess end_process = [router, order, note, from = welcome.process,
                                    exit = process.exit()](const std::string& reason) {
      caf::anon_send(router, Letter{from, to_supervisor(), end_by_device(order, reason, *note)});
      exit->set(1, reason, ExitLatch::Manner::kAtOnce);
    };
    stage_settings.make_runner = [wanted, order, end_process](const TellJobEnd& tell) {
      return make_runner(wanted, order, tell, end_process);
    };
    const EndProcess end_without_blame = [note, end_process](const std::string& reason) {
      note->close();  // whatever is computed beside a library's call is not to blame
      end_process(reason);
    };
    add_collective(stage_settings, options.device, end_without_blame);
    auto actor = process.system().spawn<caf::detached>(stage, std::move(stage_settings));
    process.own_while_it_lives(actor);
    return actor;
  };
  settings.end_process = [exit = process.exit()](int status, const std::string& reason) { exit->set(status, reason); };
  settings.give_up_process = [exit = process.exit()](const std::string& reason) {
    exit->set(1, reason, ExitLatch::Manner::kAtOnce);
  };
  settings.fail_process = [exit = process.exit(), note = settings.note](const Inject& order) {
    if (order.how != InjectKind::kFreeze) note->close();  // no microbatch is to blame
    fail_process(order, exit);
  };
  return settings;
}

// The first worker of a node has the files with the node's name.
std::string file_name(const WorkerNodeOptions& options) {
  return options.device_index == 0 ? options.name : compose(options.name, "-", options.device_index);
}

// The run's level comes with the Welcome. A trace that is sent lies in the keeper's folder meanwhile.
std::shared_ptr<Tracer> begin_trace(const WorkerNodeOptions& options, ActorProcess& process) {
  const auto folder = options.trace ? options.trace : options.stream;
  return folder ? process.keep_trace(*folder, file_name(options), std::nullopt) : nullptr;
}

constexpr ControlTimeouts kRenewalTimeouts{1500ms, 3000ms};  // an orderly end waits for them

// By the certificate that is to be renewed, of the first that answers.
Result<std::string> ask_for_renewal(const TlsFiles& files, const std::vector<HostPort>& join,
                                    const std::string& request) {
  Result<std::string> answer = fail(Error::kUnreachable, "no spawner is named");
  for (const HostPort& address : join) {
    const auto client = ControlClient::create(files, address, kRenewalTimeouts);
    answer = client ? client->renew(request) : client.failure();
    if (answer) return answer;
  }
  return answer;
}

// Names the address at which this process listens, and the one that it tells others.
struct Door {
  Socket listener;
  Endpoint announced;
};

constexpr auto kPortPatience = 2s;  // whoever needs longer is started again, by its keeper's budget of short lives

// Nothing: a signal came first.
Result<std::optional<Door>> open_door(const WorkerNodeOptions& options, const HostPort& spawner) {
  const auto host = local_address_towards(spawner);
  if (!host) return host.failure();
  const HostPort address = options.listen.value_or(HostPort{*host, 0});
  auto port = listen_patiently(address, kPortPatience);
  if (!port) return port.failure();
  if (port->signal) return std::optional<Door>();
  // A name may mean something else to others, and the spawner dials numbers alone (control/reach.h).
  const auto bound = parse_host_port(local_end(port->listener.descriptor()));
  const bool is_own = bound && !is_every_interface(*bound);
  const Endpoint endpoint{is_own ? bound->host : *host, local_port(port->listener.descriptor())};
  return std::optional(Door{std::move(port->listener), endpoint});
}

constexpr Duration kFilesArriveWithin = std::chrono::seconds(2);

// From here on the log goes to stderr and, from another machine, to the run directory.
Result<std::shared_ptr<NodeFiles>> open_files(const WorkerNodeOptions& options) {
  if (!options.stream) return std::shared_ptr<NodeFiles>();
  auto files = std::make_shared<NodeFiles>();
  files->name = file_name(options);
  LogTarget target;
  target.tap = [files](std::string_view line) { files->log.add(line); };
  if (auto opened = open_log(target); !opened) return opened.failure();
  return files;
}

Result<int> serve(const WorkerNodeOptions& options, const Admission& admission) {
  const TlsFiles files = files_of(options);
  const auto credentials = read_credentials(files);
  if (!credentials) return credentials.failure();
  const auto identity = identity_of(credentials->certificate);
  if (!identity) return identity.failure();
  auto door = open_door(options, admission.control);
  if (!door) return door.failure();
  if (!*door) return 0;
  auto started = ActorProcess::start({name_of_process(options.name, options.device_index),
                                      files,
                                      identity->run,
                                      {PeerRole::kSpawner, PeerRole::kNode, PeerRole::kStorage},
                                      admission.rendezvous.dead_after,
                                      false,
                                      options.note ? peer_note_beside(*options.note) : std::string(),
                                      revoked_by(admission.rendezvous),
                                      {options.limits.up_bit_s.value_or(0), options.limits.down_bit_s.value_or(0)},
                                      kThreadsOfWorker});
  if (!started) return started.failure();
  ActorProcess& process = **started;
  process.keep_certificate(
      files, [join = options.join, files](const std::string& request) { return ask_for_renewal(files, join, request); },
      {process.transport().context()});
  const auto trace = begin_trace(options, process);
  const auto sent_files = open_files(options);
  if (!sent_files) return sent_files.failure();
  RouterConfig config = router_config(process, ProcessRole::kNode, options.name, admission.rendezvous);
  config.spawner_dialler = spawn_spawner_dialler(process, {[join = options.join] { return join; }, files});
  config.tracer = trace;
  config.board = process.board();
  const auto router_actor = spawn_io_router(process.system(), std::move(config));
  process.own_vital(router_actor, "router");
  process.write_trace(router_actor, sent_files.value());
  const auto port = process.transport().publish(as_actor(router_actor), std::move((*door)->listener));
  if (!port) return port.failure();
  const Endpoint& announced = (*door)->announced;
  const PortChoice choice = options.listen && options.listen->port != 0 ? PortChoice::kGiven : PortChoice::kAny;
  spawn_port_check(process, {options.name, options.join, files, {announced.host, announced.port}, choice});
  auto settings = agent_settings(options, process, router_actor, announced, trace);
  if (*sent_files) settings.storage_waits = [files = *sent_files] { files->are_awaited = true; };
  const auto agent = process.system().spawn(node_agent, std::move(settings));
  process.own_vital(agent, "node_agent");
  tell_keeper(LifeReached::kUp);
  const int status = process.run([&](int) { caf::anon_send(agent, StopRequest{"asked to leave by a signal", 0}); });
  if (*sent_files && (*sent_files)->are_awaited) wait_until_arrived(**sent_files, kFilesArriveWithin);
  return status;
}

}  // namespace

Result<int> run_worker_node(const WorkerNodeOptions& options) {
  block_signals();
  if (auto ready = prepare_device(options.device, program_folder()); !ready) return ready.failure();
  const auto admission = be_admitted(options);
  if (!admission) return admission.failure();
  if (!admission.value()) return 0;
  return serve(options, *admission.value());
}

}  // namespace shoal
