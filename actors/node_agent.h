// The node agent: joins the run, starts the stages the supervisor asks for, says when one ends, leaves when told.
//
// One per process; storage has one too and is never asked for a stage. Its core (runtime/node/node_core.h) decides; the
// shell has the stages' handles and what the process's wiring gave it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/node/node_core.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/device_meter.h"

namespace shoal {

struct NodeAgentSettings : NodeSettings {
  RouterActor router;
  // Starts a stage actor in this process. The Config is the run's, from the Welcome.
  std::function<StageActor(const SpawnStage&, const Config&, const Welcome&)> start_stage;
  // The process should end with this status; called once, on an actor's thread.
  std::function<void(int exit_status, const std::string& reason)> end_process;
  // The process ends at once, whatever its actors are at, and its keeper starts it again.
  std::function<void(const std::string& reason)> give_up_process = [](const std::string&) {};
  std::function<void()> storage_waits = [] {};  // called before, if what this process wrote is still to arrive there
  // The process should fail as an injection says; returns before it does, unless it is the end.
  std::function<void(const Inject&)> fail_process;
  std::shared_ptr<ActorBoard> board = nullptr;   // of this process: what its heartbeats tell
  std::shared_ptr<DeviceMeter> meter = nullptr;  // the same; none: it computes nothing
};

struct NodeAgentState {
  static inline const char* name = "node_agent";
  NodeAgentSettings settings;
  std::optional<NodeCore> core;
  std::map<Incarnation, caf::actor_addr> stages;
  std::shared_ptr<ActorPulse> pulse;
};

NodeAgentActor::behavior_type node_agent(NodeAgentActor::stateful_pointer<NodeAgentState> self,
                                         NodeAgentSettings settings);

}  // namespace shoal
