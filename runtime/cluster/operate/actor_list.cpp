// A map by node and name is already almost in the order that people see.
#include "runtime/cluster/operate/actor_list.h"

#include <algorithm>

namespace shoal {
namespace {

// Returns true for an actor that each start of its process starts anew.
[[nodiscard]] bool dies_with_its_process(const std::string& name) {
  return name == "router" || name == "node_agent" || name == "tracer";
}

// Returns true for a name that is told in many processes, and therefore gets theirs.
[[nodiscard]] bool has_a_place(const std::string& name) { return dies_with_its_process(name) || name == "keeper"; }

}  // namespace

void ActorList::add(const std::string& node, ActorHealth health) {
  const std::pair key(node, health.name);
  lines_[key] = std::move(health);
}

void ActorList::merge(const std::string& node, const std::vector<ActorHealth>& told, std::uint32_t lives_before) {
  for (std::size_t index = 0; index < told.size() && !kToldMax.is_reached_by(index); ++index) {
    const ActorHealth& health = told[index];
    const std::string own_name = health.name.substr(0, kTextMax);
    const std::string name = has_a_place(own_name) ? own_name + "/" + node : own_name;
    const bool is_known = lines_.contains({node, name});
    ActorHealth& line = lines_[{node, name}];
    line.name = name;
    line.mailbox = health.mailbox;
    line.restarts += health.restarts + (dies_with_its_process(own_name) ? lives_before : 0);
    line.last_message = health.last_message.substr(0, kTextMax);
    line.last_message_ms = health.last_message_ms;
    if (!is_known) line.incarnation = health.incarnation;
    if (!is_known || health.state == "down") line.state = health.state.substr(0, kTextMax);
  }
}

std::vector<ActorLine> ActorList::sorted() const {
  std::vector<ActorLine> lines;
  for (const bool is_spawner : {true, false}) {
    for (const auto& [key, health] : lines_) {
      if ((key.first == "spawner") == is_spawner) lines.push_back({key.first, health});
    }
  }
  return lines;
}

}  // namespace shoal
