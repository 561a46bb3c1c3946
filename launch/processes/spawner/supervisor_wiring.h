// The supervisor of a run, and the actors that it starts and starts again: its sync groups and its data loader.
//
// Wiring alone: what they decide is in runtime/cluster, runtime/sync and runtime/pipeline.
#pragma once

#include <memory>

#include "actors/supervisor.h"
#include "launch/processes/actor_process.h"
#include "launch/processes/spawner/opened_run.h"
#include "launch/stop_signals.h"

namespace shoal {

// Returns how a run ends by a signal.
[[nodiscard]] StopOrder stop_order(int signal);

[[nodiscard]] SupervisorConfig supervisor_config(const OpenedRun& run, const SpawnerProcessOptions& options, RunId id);

// process: outlives the supervisor.
[[nodiscard]] SupervisorSettings supervisor_settings(ActorProcess& process, const OpenedRun& run,
                                                     const SupervisorConfig& core, const RouterActor& router,
                                                     const std::shared_ptr<Tracer>& trace);

}  // namespace shoal
