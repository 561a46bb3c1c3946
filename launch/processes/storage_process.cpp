// `shoal internal-storage`: joins the run of its directory and serves its disk.
#include <unistd.h>

#include <random>
#include <utility>

#include "actors/node_agent.h"
#include "actors/router/io_router.h"
#include "actors/storage.h"
#include "launch/commands/run/processes.h"
#include "launch/processes/actor_process.h"
#include "launch/processes/injected_process.h"
#include "launch/processes/links_of_process.h"
#include "launch/processes/ports/free_ports.h"
#include "launch/processes/ports/own_port.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/spawner_dialler.h"
#include "launch/processes/text/recorded_text.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/heap.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/base/restart_policy.h"
#include "runtime/base/sha256.h"
#include "runtime/transport/control/control_client.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

struct FoundSpawner {
  Rendezvous rendezvous;
  SpawnerAddress address;
};

// By the newest start of the spawner of this directory.
std::vector<HostPort> control_endpoints(const RunDirectory& run) {
  const auto address = read_spawner_json(run);
  return address ? std::vector{address->control} : std::vector<HostPort>{};
}

// Waits for the spawner of this directory; nothing when a signal came first. Errors: its own files cannot be used,
// which no waiting mends.
Result<std::optional<FoundSpawner>> find_spawner(const RunDirectory& run, const TlsFiles& files) {
  std::string said;
  while (true) {
    if (const auto address = read_spawner_json(run)) {
      const auto client = ControlClient::create(files, address->control);
      if (!client) return client.failure();
      const auto rendezvous = client->rendezvous();
      if (rendezvous) return std::optional(FoundSpawner{*rendezvous, *address});
      const std::string why = rendezvous.failure().message;
      if (why != std::exchange(said, why)) log_warn("storage", why, " Trying again.");
    }
    if (wait_for_signal(100ms)) return std::optional<FoundSpawner>();
  }
}

Result<CheckpointWriterSettings> writer_settings(const RunDirectory& run) {
  const auto text = read_file(run.config());
  if (!text) return text.failure();
  const auto config = parse_config(*text, run.config());
  if (!config) return config.failure();
  const auto trained_on = text_of_run(run);
  if (!trained_on) return trained_on.failure();
  const auto authority = Authority::open(run.certs());
  if (!authority) return authority.failure();
  CheckpointWriterSettings settings;
  settings.folder = run.checkpoints(*config);
  settings.keep = config->checkpoint.keep;
  settings.run = run_text(authority->run());
  settings.config_sha256 = sha256_hex(std::string_view(*text));
  settings.corpus_sha256 = trained_on->sha256;
  settings.journal_folder = run.root;
  return settings;
}

Result<int> serve(const RunDirectory& run, const TlsFiles& files, const FoundSpawner& spawner,
                  CheckpointWriterSettings writer) {
  const auto address = storage_listens_at(spawner.address);
  if (!address) return address.failure();
  auto door = listen_patiently(*address);
  if (!door) return door.failure();
  if (door->signal) return 143;
  auto started = ActorProcess::start({"storage",
                                      files,
                                      spawner.rendezvous.run,
                                      {PeerRole::kSpawner, PeerRole::kNode},
                                      spawner.rendezvous.dead_after,
                                      true,
                                      run.peer_note_of("storage"),
                                      revoked_by(spawner.rendezvous),
                                      {},
                                      kThreadsOfStorage});
  if (!started) return started.failure();
  ActorProcess& process = **started;
  process.keep_certificate(files,
                           [run](const std::string& request) { return sign_own(run, PeerRole::kStorage, request); },
                           {process.transport().context()});
  const auto trace = process.keep_trace(run.root.string(), "storage", std::nullopt);  // the Welcome says the level
  auto mail = router_config(process, ProcessRole::kStorage, "storage", spawner.rendezvous);
  mail.tracer = trace;
  mail.spawner_dialler = spawn_spawner_dialler(process, {[run] { return control_endpoints(run); }, files});
  mail.board = process.board();
  const auto router_actor = spawn_io_router(process.system(), std::move(mail));
  process.own_vital(router_actor, "router");
  process.write_trace(router_actor);
  const auto port = process.transport().publish(as_actor(router_actor), std::move(door->listener));
  if (!port) return port.failure();
  log_info("storage", "listens at ", host_port_text({address->host, *port}));
  const StorageSettings disk{std::make_shared<CheckpointWriter>(std::move(writer)), router_actor, trace, run.root,
                             process.board()};
  process.take_care_of(
      {.name = "storage",
       .start = [&process, disk] { return as_actor(process.system().spawn<caf::detached>(storage, disk)); },
       .after_budget = AfterBudget::kEndProcess,
       .router = router_actor});
  NodeAgentSettings agent;
  agent.join.name = "storage";
  agent.join.role = ProcessRole::kStorage;
  agent.join.nonce = std::random_device{}();
  agent.join.endpoint = Endpoint{reachable(*address).host, *port};
  agent.join.pid = static_cast<std::uint64_t>(::getpid());
  agent.router = router_actor;
  agent.tracer = trace;
  agent.board = process.board();
  agent.refusals = process.refusals();
  agent.start_stage = [](const SpawnStage&, const Config&, const Welcome&) -> StageActor {
    ENSURE(false, "a storage process was asked for a stage");
  };
  agent.end_process = [exit = process.exit()](int status, const std::string& reason) { exit->set(status, reason); };
  agent.fail_process = [exit = process.exit()](const Inject& order) { fail_process(order, exit); };
  const auto agent_actor = process.system().spawn(node_agent, std::move(agent));
  process.own_vital(agent_actor, "node_agent");
  return process.run([&](int) { process.exit()->set(143, "asked to end by a signal"); });
}

// Its keeper takes other codes for a start that failed: from here on only the end of the run, 0, is final.
int status_of_one_that_served(int status) {
  const bool is_like_a_start = status >= exit_code(Error::kUsage) && status <= exit_code(Error::kDiverged);
  return is_like_a_start ? kRejoinStatus : status;
}

}  // namespace

Result<int> run_storage_process(const StorageProcessOptions& options) {
  block_signals();
  keep_one_heap();
  give_pieces_back();
  const RunDirectory run{options.run_directory};
  const TlsFiles files = credential_files(run.certs(), "storage");
  const auto found = find_spawner(run, files);
  if (!found) return found.failure();
  const auto& spawner = *found;
  if (!spawner) return 143;
  auto writer = writer_settings(run);
  if (!writer) return writer.failure();
  const auto status = serve(run, files, *spawner, std::move(writer.value()));
  return status ? Result<int>(status_of_one_that_served(*status)) : status;
}

}  // namespace shoal
