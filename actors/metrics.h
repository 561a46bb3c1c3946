// The metrics actor: writes metrics.jsonl and shows progress. It never answers, so nothing waits for it.
//
// A line that cannot be written (a full disk) is counted and logged; training goes on (design.md §7).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/trace/metrics_core.h"
#include "runtime/trace/metrics_file.h"

namespace shoal {

struct MetricsSettings {
  MetricsConfig core;
  std::string path;                                // metrics.jsonl, appended to
  JournalPosition live_after;                      // entries up to here were there when this spawner started
  std::function<void(const MetricsOutput&)> show;  // for a person; called on an actor's thread
  RouterActor router;
};

struct MetricsState {
  static inline const char* name = "metrics";
  MetricsCore core{MetricsConfig{}};
  MetricsSettings settings;
  std::optional<MetricsFile> file;  // empty: it could not be opened
  std::uint64_t lines_lost = 0;
};

MetricsActor::behavior_type metrics(MetricsActor::stateful_pointer<MetricsState> self, MetricsSettings settings);

}  // namespace shoal
