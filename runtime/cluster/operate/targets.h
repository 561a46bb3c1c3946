// Names that a person may give to a running Shoal, and what each stands for (`shoal kill`, `drain`, `chaos`).
//
//   stage/1/0 router/node2 node_agent/node2 tracer/node2      actors of a node: kind, slash, place
//   data_loader sync_group/0 metrics control supervisor       actors of the spawner process
//   storage                                                   the actor of the storage process
//   node2                                                     a node, with the processes of all its devices
//   node2:1                                                   the process of its second device
//
// Pure: the supervisor lists what is there, resolve_target() finds a name or lists the names that exist; ToldToEnd
// keeps a name for a moment after its end was ordered.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "messages/operate.h"
#include "runtime/base/clock.h"
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

// Says that it is known and not there, and what is.
[[nodiscard]] std::string absence_text(std::string_view name, const std::vector<Target>& all);

// Says that it went ("left", "was evicted") and does not come back by itself, and what is there.
[[nodiscard]] std::string departed_text(std::string_view name, std::string_view went, const std::vector<Target>& all);

// Says that it is not there, of one that was told to end by an earlier order.
[[nodiscard]] std::string ending_text(std::string_view name);

// The first of that name. Errors: kUsage, with the nearest name and those that are there.
[[nodiscard]] Result<Target> resolve_target(std::string_view name, const std::vector<Target>& all);

// Processes and replicas that were told to end and may not have ended yet: what else is ordered of them would go with
// them. Whoever is there after kEndsWithin has not heard of it, and may be told again. All other actors keep their
// address when they are started again, and an order waits there for the next one. Bounded by kEndsWithin.
class ToldToEnd {
 public:
  static constexpr Duration kEndsWithin = std::chrono::seconds(5);

  void add(const Target& target, Instant now);
  [[nodiscard]] bool contains(const Target& target, Instant now) const;

 private:
  std::map<ProcessIncarnation, Instant> processes_;
  std::map<Incarnation, Instant> replicas_;
};

}  // namespace shoal
