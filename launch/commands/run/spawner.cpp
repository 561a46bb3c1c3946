// `shoal spawner`: prepares the run directory, then keeps the spawner process and storage and prints the join line.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "launch/commands/run/blamed_peers.h"
#include "launch/commands/run/keepers.h"
#include "launch/commands/run/run_entry.h"
#include "launch/commands/run/spawner_ward.h"
#include "launch/keeper.h"
#include "launch/open_files.h"
#include "launch/processes/ports/free_ports.h"
#include "launch/processes/ports/loopback_name.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "launch/stop_signals.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/base/machine/unhindered_stream.h"
#include "runtime/cluster/balance/rebalance_control.h"
#include "runtime/executor/poison_hook.h"
#include "runtime/transport/control/control_client.h"

namespace shoal {
namespace {

// The run can do without it for a while, and cannot begin without it: one that never came up ends the run, one that
// did is started again as long as the run goes on.
Ward storage_ward(const RunDirectory& run) {
  Ward ward;
  ward.name = "storage";
  ward.role = WardRole::kFollower;
  ward.program = {{program_folder() + "/shoal", "internal-storage", "--run", run.root.string()}, run.log_of("storage")};
  ward.excuse = blame_peers(ward.name, run.peer_note_of("storage"));
  ward.limits.finality = Finality::kAtFirst;
  ward.limits.final_codes = {0, 2, 3, 4, kNoThreadsStatus};
  ward.limits.budget = kNoBudget;
  return ward;
}

// The exact line that starts a node elsewhere; nothing while the spawner is not ready.
std::optional<std::string> join_line(const RunDirectory& run) {
  const auto address = read_spawner_json(run);
  const auto token = read_file(run.join_token());
  if (!address || !token) return std::nullopt;
  const std::string text = token->substr(0, token->find_last_not_of(" \n") + 1);
  return compose("shoal node --join ", host_port_text(reachable(address->control)), " --token ", text, "\n");
}

// Nothing more is to come of the start then.
bool has_storage(const RunDirectory& run) {
  const auto address = read_spawner_json(run);
  if (!address) return false;
  const ControlTimeouts brief{std::chrono::milliseconds(500), std::chrono::milliseconds(1000)};  // a keeper waits here
  const auto client = ControlClient::create(credential_files(run.certs(), "operator"), address->control, brief);
  const auto answer = client ? client->get("/v1/status") : client.failure();
  if (!answer) return false;
  const auto status = nlohmann::json::parse(answer->body, nullptr, false);
  if (!status.is_object() || !status.contains("actors")) return false;
  return std::ranges::any_of(status["actors"],
                             [](const auto& actor) { return actor.value("node", std::string()) == "storage"; });
}

// The line is the result of the command, and the last one of its start: it stands in either stream, once where both are
// the same.
void show_join_line(const std::string& line) {
  struct stat out {};
  struct stat err {};
  const bool are_known = ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0;
  words_out().write(line);
  if (are_known && out.st_dev == err.st_dev && out.st_ino == err.st_ino) return;
  UnhinderedStream results(STDOUT_FILENO);  // whoever read it may have gone: the run goes on
  results.write(line);
  results.finish(std::chrono::seconds(1));
}

// Asked again and again: shows the line, once, as soon as storage has joined and that has been said; without storage
// after a while.
class JoinLineShower {
 public:
  explicit JoinLineShower(RunDirectory run) : run_(std::move(run)) {}

  [[nodiscard]] bool has_shown() {
    const auto line = join_line(run_);
    if (!line) return false;
    const Instant now = SteadyClock().now();
    if (!since_) since_ = now;
    if (!is_complete_ && now - *since_ < kPatience) {
      if (asked_ && now - *asked_ < kPause) return false;
      is_complete_ = has_storage(run_);
      asked_ = SteadyClock().now();
      return false;
    }
    show_join_line(*line);
    return true;
  }

 private:
  static constexpr Duration kPatience = std::chrono::seconds(5);
  static constexpr Duration kPause = std::chrono::milliseconds(100);

  RunDirectory run_;
  std::optional<Instant> since_, asked_;
  bool is_complete_ = false;
};

// Checks the port before anything is written: a command that cannot begin leaves nothing behind. A resumed run's port
// may be let go only in a moment: the spawner process waits for it.
Status check_can_listen(const ChosenRun& chosen, const HostPort& address) {
  if (!chosen.is_resumed) return wait_for_ports_of_spawner(address);
  const auto storage = with_port_after(address, 1);
  return storage ? Status(Done{}) : storage.failure();
}

// was_asked: becomes true where a signal asked it to end.
Result<int> keep_until_end(const KeepSpawnerOptions& options, bool& was_asked) {
  const RunDirectory run{options.run_directory};
  if (!options.is_restarted) set_spawner_json_aside(run);
  Keeper keeper({Duration::zero(), std::chrono::seconds(30)});
  if (auto status = keeper.add(spawner_ward(options)); !status) return status.failure();
  if (auto status = keeper.add(storage_ward(run)); !status) return status.failure();
  if (options.join_line == JoinLine::kPrint) {
    keeper.poll(
        [shower = std::make_shared<JoinLineShower>(run)](Keeper&) -> Result<bool> { return shower->has_shown(); });
  }
  auto code = keeper.run();
  was_asked = keeper.first_signal() != 0;
  return code;
}

}  // namespace

Result<int> keep_spawner(const KeepSpawnerOptions& options) {
  bool was_asked = false;
  return keep_until_end(options, was_asked);
}

Result<int> run_spawner(const SpawnerOptions& options) {
  end_at_stop_signals();
  outlive_readers();
  if (const auto poison = poison_from_environment(); !poison) return poison.failure();
  if (const auto control = rebalance_control_from_environment(); !control) return control.failure();
  if (const auto enough = check_open_files(open_files_allowed()); !enough) return enough.failure();
  if (const auto room = check_thread_room(kThreadsOfSpawner + kThreadsOfStorage); !room) return room.failure();
  auto chosen = choose_run(options.run, surroundings_here());
  if (!chosen) return chosen.failure();
  if (auto status = check_sums_can_travel(chosen->config); !status) return status.failure();
  if (auto status = check_can_listen(*chosen, options.listen); !status) return status.failure();
  say_warning(loopback_warning(options.listen));
  const auto hold = enter_run(*chosen, options.stop_at_step);
  if (!hold) return hold.failure();
  const RunDirectory run{chosen->directory};
  KeepSpawnerOptions keep;
  keep.run_directory = chosen->directory;
  keep.listen = options.listen;
  keep.is_announced = options.listen.port != 0;
  keep.is_restarted = chosen->is_resumed;
  keep.is_resumed = chosen->is_resumed;
  // Takes the address at which this run's nodes look for it, unless a person gives another.
  const auto known = last_spawner_address(run);
  set_spawner_json_aside(run);  // the line to paste is that of the start to come
  if (chosen->is_resumed && known && keep.listen == SpawnerOptions{}.listen) {
    keep.listen = known->control;
    keep.is_announced = takes_next_port(*known);
    if (!keep.is_announced)
      say("storage takes any port, for the one after the spawner's is in use: ", run.log_of("storage"), " says which");
  }
  keep.stop_at_step = options.stop_at_step;
  keep.wait_timeout_s = options.wait_timeout_s;
  block_stop_signals();  // its keeper takes them; after that the run has its status
  bool was_asked = false;
  const auto code = keep_until_end(keep, was_asked);
  draw_finished(chosen->directory, code, was_asked);
  if (code) say_how_to_go_on("shoal spawner" + steps_words(options.stop_at_step), chosen->directory, *code);
  return code;
}

}  // namespace shoal
