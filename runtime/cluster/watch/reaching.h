// Chooses, of processes that do not all reach each other, those among which a run may start: each of them reaches all.
//
// One after the other is left out that most others do not reach, of several the youngest, until nobody is left who does
// not reach somebody. Of two sites that are cut off from each other the larger one stays, so exactly one side goes on:
// the supervisor alone asks, and it reaches both. Pure.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "messages/cluster.h"

namespace shoal {

struct Reach {
  ProcessIncarnation process;
  std::vector<ProcessIncarnation> unreached;  // by this one, or that do not reach it; maybe strangers among them
  bool is_needed = false;                     // storage, and whoever starts already: others give way to it
};

// Keeps those that are needed, also two that do not reach each other.
[[nodiscard]] inline std::set<ProcessIncarnation> reaching_each_other(const std::vector<Reach>& all) {
  std::map<ProcessIncarnation, std::set<ProcessIncarnation>> apart;
  std::set<ProcessIncarnation> kept;
  for (const Reach& one : all) kept.insert(one.process);
  for (const Reach& one : all) {
    for (const ProcessIncarnation other : one.unreached) {
      if (!kept.contains(other)) continue;
      apart[one.process].insert(other);
      apart[other].insert(one.process);
    }
  }
  for (;;) {
    std::optional<std::pair<std::size_t, ProcessIncarnation>> most;
    for (const Reach& one : all) {
      const std::size_t count = apart[one.process].size();
      if (count > 0 && !one.is_needed) most = std::max(most, std::optional(std::pair(count, one.process)));
    }
    if (!most) return kept;
    for (const ProcessIncarnation other : std::exchange(apart[most->second], {})) apart[other].erase(most->second);
    kept.erase(most->second);
  }
}

}  // namespace shoal
