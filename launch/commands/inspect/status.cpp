// `shoal status`: asks the spawner why its run trains or does not.
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "launch/commands/inspect/answers.h"
#include "launch/commands/inspect/inspect.h"
#include "launch/say.h"
#include "runtime/trace/metrics/round_losses.h"

namespace shoal {
namespace {

// `shoal ps` shows all actors.
bool is_of_the_summary(const std::string& name) {
  for (const char* kind : {"stage/", "node_agent/", "sync_group/", "storage", "keeper/"}) {
    if (name.starts_with(kind)) return true;
  }
  return false;
}

// A line of its own where the run has rounds.
std::string rounds_of(const nlohmann::json& status) {
  const auto rounds = status.find("rounds");
  if (rounds == status.end()) return "";
  const RoundLosses losses{rounds->at("lost_tokens").get<std::uint64_t>(), 0,
                           rounds->at("approximated").get<std::uint64_t>()};
  return "rounds: " + text_of(losses) + "\n";
}

std::string describe(const nlohmann::json& status) {
  std::ostringstream out;
  out << "run " << status.at("run").get<std::string>() << ": " << status.at("summary").get<std::string>() << '\n'
      << progress_text(status) << '\n'
      << rounds_of(status) << '\n'
      << std::left << std::setw(20) << "ACTOR" << std::setw(16) << "NODE" << std::setw(13) << "INCARNATION"
      << "STATE\n";
  for (const auto& actor : status.at("actors")) {
    if (!is_of_the_summary(actor.at("name").get<std::string>())) continue;
    out << std::setw(20) << actor.at("name").get<std::string>() << std::setw(16) << actor.at("node").get<std::string>()
        << std::setw(13) << actor.at("incarnation").get<std::uint64_t>() << actor.at("state").get<std::string>()
        << '\n';
  }
  const auto machines = status.value("machines", nlohmann::json::array());
  if (!machines.empty())
    out << '\n'
        << std::setw(20) << "WORKER"
        << "GIVES\n";
  for (const auto& machine : machines) {
    out << std::setw(20) << machine.at("name").get<std::string>() << machine_text(machine) << '\n';
  }
  return out.str();
}

}  // namespace

Result<int> run_status(const StatusOptions& options) {
  const auto status = ask_status(options.where);
  if (!status) return status.failure();
  try {
    print(options.form == OutputForm::kJson ? status_json_text(*status) : describe(*status));
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInternal, compose("the spawner's answer is not as expected: ", error.what()));
  }
  return 0;
}

}  // namespace shoal
