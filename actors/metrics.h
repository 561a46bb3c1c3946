// The metrics actor: writes metrics.jsonl and shows progress. It never answers, so nothing waits for it.
//
// A line that cannot be written (a full disk) waits until it can; training goes on (DESIGN.md §7).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/metrics/metrics_core.h"
#include "runtime/trace/metrics/metrics_outbox.h"
#include "runtime/trace/metrics/run_summary.h"

namespace shoal {

struct MetricsSettings {
  MetricsConfig core;
  std::string path;                                // metrics.jsonl, appended to
  JournalPosition live_after;                      // entries up to here are not written into a file that has no step
  std::function<void(const MetricsOutput&)> show;  // for a person; called on an actor's thread
  RouterActor router;
  std::shared_ptr<ActorBoard> board = nullptr;
  // Counts what this actor has written, over all its lives: no line is lost or written twice when it is started again.
  std::shared_ptr<std::atomic<std::uint64_t>> taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  // Likewise over all its lives, of which one at a time is there.
  std::shared_ptr<WorkEnd> work_end = std::make_shared<WorkEnd>();
};

struct MetricsState {
  static inline const char* name = "metrics";
  MetricsCore core{MetricsConfig{}};
  MetricsSettings settings;
  std::optional<MetricsOutbox> outbox;   // from the actor's start on
  std::optional<SummaryReader> summary;  // sums up all its lines, a piece with every new one
  std::shared_ptr<ActorPulse> pulse;
};

MetricsActor::behavior_type metrics(MetricsActor::stateful_pointer<MetricsState> self, MetricsSettings settings);

}  // namespace shoal
