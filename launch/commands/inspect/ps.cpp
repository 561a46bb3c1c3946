// `shoal ps`: the actor tree, one process after the other.
//
//   spawner
//   ├─ metrics            0  running   mailbox 0  restarts 0  RunEvent 12 ms ago
//   └─ supervisor ...
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "launch/commands/inspect/answers.h"
#include "launch/commands/inspect/inspect.h"
#include "launch/say.h"

namespace shoal {
namespace {

std::string ago(std::uint64_t milliseconds) {
  if (milliseconds < 10'000) return compose(milliseconds, " ms ago");
  if (milliseconds < 600'000) return compose(milliseconds / 1000, " s ago");
  return compose(milliseconds / 60'000, " min ago");
}

std::string line_of(const nlohmann::json& actor, bool is_last) {
  const auto last = actor.at("last_message").get<std::string>();
  std::ostringstream out;
  out << (is_last ? "└─ " : "├─ ") << std::left << std::setw(24) << actor.at("name").get<std::string>() << std::right
      << std::setw(8) << actor.at("incarnation").get<std::uint64_t>() << "  " << std::left << std::setw(9)
      << actor.at("state").get<std::string>() << std::right << std::setw(8) << actor.at("mailbox").get<std::uint64_t>()
      << std::setw(9) << actor.at("restarts").get<std::uint64_t>() << "  "
      << (last.empty() ? "-" : last + ", " + ago(actor.at("last_message_ms").get<std::uint64_t>())) << '\n';
  return out.str();
}

// Says what a process gives, behind its name.
std::string gives_of(const nlohmann::json& machines, const std::string& name) {
  for (const auto& machine : machines) {
    if (machine.at("name") == name) return "  " + machine_text(machine);
  }
  return "";
}

// Actors of a node stand together in the answer.
std::string tree_of(const nlohmann::json& actors, const nlohmann::json& machines) {
  std::string text = "   NAME                    INCARNATION  STATE     MAILBOX RESTARTS  LAST MESSAGE\n";
  std::string node;
  for (std::size_t index = 0; index < actors.size(); ++index) {
    const auto here = actors[index].at("node").get<std::string>();
    if (here != node) text += here + gives_of(machines, here) + "\n";
    node = here;
    const bool is_last = index + 1 == actors.size() || actors[index + 1].at("node") != actors[index].at("node");
    text += line_of(actors[index], is_last);
  }
  return text;
}

}  // namespace

Result<int> run_ps(const PsOptions& options) {
  const auto status = ask_status(options.where);
  if (!status) return status.failure();
  try {
    const auto machines = status->value("machines", nlohmann::json::array());
    const bool is_json = options.form == OutputForm::kJson;
    print(is_json ? actors_json_text(*status) : tree_of(status->at("actors"), machines));
  } catch (const nlohmann::json::exception& error) {
    return fail(Error::kInternal, compose("the spawner's answer is not as expected: ", error.what()));
  }
  return 0;
}

}  // namespace shoal
