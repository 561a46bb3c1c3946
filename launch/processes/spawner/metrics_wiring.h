// Wires how a run tells of itself: in metrics.jsonl, and to the person who started it.
//
// Nothing is told twice, and what cannot be told now is left for the next start.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/metrics.h"
#include "launch/processes/spawner/opened_run.h"
#include "runtime/cluster/supervisor/supervisor.h"
#include "runtime/trace/metrics/branches/branch_record.h"
#include "runtime/trace/metrics/round_losses.h"

namespace shoal {

// Remembers the lines that metrics has given out.
struct Told {
  std::atomic<bool> failure = false;
  std::shared_ptr<RoundTally> rounds;  // none: the run has no rounds
};

// Those of an earlier life of the run count, too.
[[nodiscard]] std::shared_ptr<Told> told_before(const RunDirectory& run, const Config& config);

// Returns the branch that a person began last, and that the run is on.
[[nodiscard]] std::optional<BranchRecord> newest_told(const RunDirectory& run);

// Shows what metrics gives out, and remembers it.
[[nodiscard]] std::function<void(const MetricsOutput&)> watched_progress(const SupervisorConfig& core,
                                                                         const Config& config,
                                                                         std::shared_ptr<Told> told);

// A person reads of a failure that no line of metrics told, because its actor was being started again, say; the line is
// left for the next start. Returns the status.
[[nodiscard]] int tell_end(const RunDirectory& run, int status, const std::string& reason, bool has_told_failure);

[[nodiscard]] MetricsSettings metrics_settings(const RunDirectory& directory, const OpenedRun& run,
                                               const RouterActor& router);

}  // namespace shoal
