// `shoal chaos`: one failure after the other, by the way of `shoal kill`. What is chosen is decided in
// runtime/cluster/operate/chaos.h; here are the clock and the waiting for a spawner that is being started again.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "launch/commands/operate/operate.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "messages/values/run_events.h"
#include "runtime/trace/metrics/metrics_file.h"

namespace shoal {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr auto kAskAgain = std::chrono::milliseconds(200);
constexpr auto kPatience = seconds(60);        // for a spawner that does not answer
constexpr auto kKeeperPatience = seconds(15);  // for its keeper, after a failure that it may start again from
constexpr auto kLook = seconds(1);             // between two looks whether the run is over

// The names of the status answer: actors that are up, and the nodes they run on.
std::vector<std::string> names_in(const nlohmann::json& actors) {
  std::vector<std::string> names;
  for (const auto& actor : actors) {
    const auto state = actor.at("state").get<std::string>();
    const auto node = actor.at("node").get<std::string>();
    if (state != "down" && state != "lost" && state != "silent") names.push_back(actor.at("name").get<std::string>());
    if (node != "spawner" && node != "storage") names.push_back(node);
  }
  return names;
}

Result<std::vector<std::string>> ask_names(const RunLocator& where) {
  const auto status = ask_status(where);
  if (!status) return status.failure();
  try {
    return names_in(status->at("actors"));
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInternal, compose("the spawner's answer is not as expected: ", error.what()));
  }
}

// Returns true when the run's directory is here and its last record says that it ended. A failed run counts only after
// kKeeperPatience: its keeper may start it again.
bool has_ended(const RunLocator& where, Steady::duration waited) {
  if (where.run_directory.empty()) return false;
  const auto end = end_told_by(RunDirectory{where.run_directory}.metrics());
  return end && (*end != RunEventKind::kFailed || waited >= kKeeperPatience);
}

// Waits for a spawner that is being started again. Nothing: the run is over. Errors: those that waiting does not mend.
Result<std::optional<std::vector<std::string>>> wait_for_names(const RunLocator& where,
                                                               Steady::duration patience = kPatience) {
  const auto since = Steady::now();
  while (true) {
    const auto names = ask_names(where);
    if (names) return std::optional(*names);
    const auto waited = Steady::now() - since;
    const bool may_come_back = names.failure().error == Error::kUnreachable && waited < patience;
    if (has_ended(where, waited)) return std::optional<std::vector<std::string>>();
    if (!may_come_back) return names.failure();
    std::this_thread::sleep_for(kAskAgain);
  }
}

bool is_left(const RunLocator& where) { return !where.run_directory.empty() && is_run_over(where.run_directory); }

// Waits until then, or until the run is over. False: it is over.
bool sleep_until(Steady::time_point due, const RunLocator& where) {
  while (Steady::now() < due) {
    std::this_thread::sleep_until(std::min(due, Steady::now() + kLook));
    if (is_left(where)) return false;
  }
  return true;
}

struct Storm {
  const ChaosOptions& options;
  Steady::time_point begun = Steady::now();
  std::uint64_t number = 0;

  void tell(const std::string& what) const {
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(Steady::now() - begun).count();
    print(static_cast<double>(since / 100) / 10, " s  ", number, "  ", what, "\n");
    std::fflush(stdout);
  }
  // One failure. What went wrong with it is told and does not end the storm.
  void strike(const ChaosChoice& choice) const {
    const std::string reason = compose("shoal chaos --seed ", options.chaos.seed, ", failure ", number);
    const OperatorOrder order{OperatorVerb::kKill, choice.name, choice.how.how, choice.how.freeze_ms, reason};
    const auto client = client_of(options.where);
    const auto answer = client ? client->post(std::string(kKillPath), kill_text(order)) : client.failure();
    const auto done = answer ? parse_done(answer->body) : answer.failure();
    tell(done ? *done : compose(choice.name, " was spared: ", done.failure().message));
  }
};

// For as long as the storm shall last, and no longer: a spawner that is not there by then is told.
Steady::duration first_patience(const ChaosOptions& options) {
  if (!options.for_s) return kPatience;
  const auto whole =
      std::chrono::duration<double>(std::min(*options.for_s, std::chrono::duration<double>(kPatience).count()));
  return std::chrono::duration_cast<Steady::duration>(whole);
}

}  // namespace

Result<int> run_chaos(const ChaosOptions& options) {
  if (const auto names = ask_names(options.where); !names && is_left(options.where)) return names.failure();
  const auto there = wait_for_names(options.where, first_patience(options));
  if (!there) return there.failure();
  if (!*there) return 0;
  const auto every = std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(options.every_s));
  Storm storm{options};
  say("a failure each ", options.every_s, " s; again by --seed ", options.chaos.seed);
  for (auto due = storm.begun + every;; ++storm.number) {
    const bool is_over = options.for_s && due - storm.begun > std::chrono::duration<double>(*options.for_s);
    if (is_over && storm.number == 0) say("warning: --for ", *options.for_s, " ends before the first failure");
    if (is_over) return 0;
    if (!sleep_until(due, options.where)) return 0;
    const auto names = wait_for_names(options.where);
    if (!names) return names.failure();
    if (!*names) return 0;
    const auto choice = choose_failure(options.chaos, storm.number, **names);
    if (choice) storm.strike(*choice);
    if (!choice) storm.tell("nobody of these kinds is there");
    due = std::max(due + every, Steady::now());  // those that fell due while the spawner was away are left out
  }
}

}  // namespace shoal
