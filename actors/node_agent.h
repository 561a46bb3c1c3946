// The node agent: joins the run, starts the stages the supervisor asks for, says when one ends, leaves when told.
//
// It asks to join until it is welcomed: a repeated Join (same nonce) gets the same answer. A process that loses its
// spawner, or finds none, ends with status 1, and its keeper starts it again where the spawner is now; so does one
// whose name is still held by the process it replaces. One per process; storage has one too and is never asked for a
// stage.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "messages/actor_types.h"
#include "runtime/base/config.h"
#include "runtime/trace/tracer.h"

namespace shoal {

struct NodeAgentSettings {
  std::optional<int> threads;  // compute threads that this process was told to use; else the run's
  Join join;                   // everything but `previous`
  RouterActor router;
  // Starts a stage actor in this process. The Config is the run's, from the Welcome.
  std::function<StageActor(const SpawnStage&, const Config&, const Welcome&)> start_stage;
  // The process should end with this status; called once, on an actor's thread.
  std::function<void(int exit_status, const std::string& reason)> end_process;
  // The process should fail as an injection says; returns before it does, unless it is the end.
  std::function<void(const Inject&)> fail_process;
  // Told the process and the level of the trace by the Welcome. None: this process keeps no trace.
  std::shared_ptr<Tracer> tracer = nullptr;
};

struct NodeAgentState {
  static inline const char* name = "node_agent";
  NodeAgentSettings settings;
  Welcome welcome;  // process 0 until welcomed
  Config config;
  std::map<caf::actor_addr, SpawnStage> stages;
  std::uint64_t heartbeats = 0;
  std::uint32_t joins_sent = 0;
  bool is_ending = false;
  ActorTrace trace;
};

NodeAgentActor::behavior_type node_agent(NodeAgentActor::stateful_pointer<NodeAgentState> self,
                                         NodeAgentSettings settings);

}  // namespace shoal
