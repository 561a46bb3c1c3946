// What a person may name to a running Shoal, and what each name stands for (interface.md: kill, drain, chaos).
//
//   stage/1/0 router/node2 node_agent/node2 tracer/node2      actors of a node: kind, slash, place
//   data_loader sync_group/0 metrics control supervisor       actors of the spawner process
//   storage                                                   the actor of the storage process
//   node2                                                     a node's whole process
//
// Pure: the supervisor lists what is there, resolve_target() finds a name or says what there is instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "messages/operate.h"
#include "runtime/base/error.h"

namespace shoal {

struct Target {
  std::string name;
  Address address;
  bool whole_process = false;
  friend bool operator==(const Target&, const Target&) = default;
};

// For people, in their order: "stage/1/0 node2", or "none".
[[nodiscard]] std::string list_names(const std::vector<Target>& all);

// That it is known and not there, and what is.
[[nodiscard]] std::string absence_text(std::string_view name, const std::vector<Target>& all);

// The first of that name. Errors: kUsage, with the nearest name and those that are there.
[[nodiscard]] Result<Target> resolve_target(std::string_view name, const std::vector<Target>& all);

}  // namespace shoal
