// Reads spawner.json, or takes the address as given; when nobody answers, metrics.jsonl tells why.
#include "launch/processes/live_run.h"

#include <signal.h>

#include <filesystem>
#include <thread>

#include "launch/processes/run_directory.h"
#include "launch/processes/run_hold.h"
#include "messages/values/run_events.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/trace/metrics/metrics_file.h"

namespace shoal {
namespace {

constexpr std::chrono::milliseconds kAskPause{100};

// Returns whether one process trained the newest step, or began a run that has none: it writes no journal, and a
// spawner makes one before the first line.
bool was_in_one_process(const RunDirectory& run) {
  const auto step = newest_step_told_by(run.metrics());
  std::error_code error;
  if (!step) return !std::filesystem::exists(run.journal(), error);
  return commit_told_by(run.metrics(), *step) == JournalPosition{};
}

// One process has the run: it keeps no journal, or the newest step was trained without one.
bool is_in_one_process(const RunLocator& where) {
  const RunDirectory run{where.run_directory};
  if (where.spawner || !RunHold::is_taken(run) || is_spawner_alive(where) || end_told_by(run.metrics())) return false;
  std::error_code error;
  if (!std::filesystem::exists(run.metrics(), error)) return false;
  return !std::filesystem::exists(run.journal(), error) || was_in_one_process(run);
}

// Whoever starts its spawner again has the run, and the run goes on. A keeper outlives it for a while.
bool is_spawner_kept(const RunLocator& where) {
  if (where.spawner || is_in_one_process(where)) return false;
  const RunDirectory run{where.run_directory};
  if (!RunHold::is_taken(run)) return false;
  const auto end = end_told_by(run.metrics());
  return !end || end == RunEventKind::kFailed;
}

// A copy of a directory whose run goes on elsewhere: orders would reach that run. Of a run that is over nobody is
// there.
Failure is_copied(const RunDirectory& run, const SpawnerAddress& address) {
  const std::string path = run.root.string();
  return fail(is_run_over(path) ? Error::kUnreachable : Error::kUsage,
              compose(path, " is a copy: its spawner.json tells of the spawner of ", address.directory->path, " on ",
                      address.directory->host, "; name that directory by --run, or its spawner by --spawner ",
                      host_port_text(address.control), " --certs ", shell_word(run.certs()),
                      "; to go on in the copy, with the other run ended: shoal train --resume ", shell_word(path)));
}

}  // namespace

bool is_run_over(const std::string& run_directory) {
  const RunDirectory run{run_directory};
  return !RunHold::is_taken(run) && end_told_by(run.metrics());
}

Failure explain_silence(const RunLocator& where, Failure failure) {
  if (failure.error != Error::kUnreachable || where.spawner || is_spawner_alive(where)) return failure;
  const RunDirectory run{where.run_directory};
  const std::string& path = where.run_directory;
  std::error_code error;
  if (!std::filesystem::exists(run.metrics(), error)) return failure;
  if (is_in_one_process(where)) {
    return fail(failure.error, compose("the run in ", path,
                                       " is trained in one process (--single): it takes no orders "
                                       "and answers no questions; its lines are in ",
                                       run.metrics()));
  }
  const bool was_single = was_in_one_process(run);
  const std::string go_on =
      compose("`shoal train", was_single ? " --single" : "", " --resume ", shell_word(path), "` goes on with it");
  const auto end = end_told_by(run.metrics());
  if (end == RunEventKind::kFinished)
    return fail(failure.error, compose("the run in ", path, " has finished: nobody is there to ask"));
  if (end)
    return fail(failure.error,
                compose("the run in ", path, end == RunEventKind::kFailed ? " has failed; " : " was stopped; ", go_on));
  if (RunHold::is_taken(run)) {
    return fail(failure.error,
                compose("the spawner of ", path, " is not running: its keeper starts it again, or ", go_on));
  }
  return fail(failure.error, compose(was_single ? "the process that trained " : "the spawner of ", path,
                                     was_single ? " (--single)" : "", " is not running; ", go_on));
}

Result<nlohmann::json> ask_status(const RunLocator& where) {
  const auto client = client_of(where);
  if (!client) return explain_silence(where, client.failure());
  const auto answer = client->get("/v1/status");
  if (!answer) return explain_silence(where, answer.failure());
  auto status = nlohmann::json::parse(answer->body, nullptr, false);
  if (status.is_object()) return status;
  return fail(Error::kInternal, "the spawner's answer is not as expected: " + answer->body);
}

Result<ControlClient> client_of(const RunLocator& where) {
  if (where.spawner) return ControlClient::create(credential_files(where.certs, "operator"), *where.spawner);
  const RunDirectory run{where.run_directory};
  const auto address = read_spawner_json(run);
  if (!address) return address.failure();
  if (address->directory && !is_same_directory(*address->directory, identity_of(run))) {
    return is_copied(run, *address);
  }
  return ControlClient::create(credential_files(run.certs(), "operator"), address->control);
}

bool is_asked_again(const Silence& silence) {
  if (silence.since_first >= kAskFor) return false;
  if (!silence.was_asked) return silence.is_spawner_alive || silence.is_spawner_kept;
  return silence.is_spawner_alive && silence.of_this < kQuickly;
}

Result<ControlResponse> post_patiently(const RunLocator& where, const std::string& path, const std::string& body) {
  const SteadyClock clock;
  const Instant begun = clock.now();
  for (;;) {
    const auto client = client_of(where);
    if (!client) return explain_silence(where, client.failure());
    const Instant asked = clock.now();
    auto connection = client->connect();
    const bool is_connected = connection.ok();
    auto answer = is_connected ? connection->post(path, body) : connection.failure();
    if (answer || answer.failure().error != Error::kUnreachable) return answer;
    const Instant now = clock.now();
    const Silence silence{now - begun, now - asked, is_connected, is_spawner_alive(where), is_spawner_kept(where)};
    if (!is_asked_again(silence)) return explain_silence(where, answer.failure());
    std::this_thread::sleep_for(kAskPause);
  }
}

bool is_spawner_alive(const RunLocator& where) {
  if (where.spawner) return false;
  const auto address = read_spawner_json(RunDirectory{where.run_directory});
  if (!address || ::kill(static_cast<pid_t>(address->pid), 0) != 0) return false;
  // "PID (NAME) STATE ...": one that is dead and not yet waited for answers to signals.
  const auto stat = read_file(compose("/proc/", address->pid, "/stat"));
  const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  return name_end == std::string::npos || stat->substr(name_end, 3) != ") Z";
}

}  // namespace shoal
