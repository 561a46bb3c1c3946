// The node agent: joins the run, starts the stages the supervisor asks for, says when one ends, leaves when told.
//
//   joining ──Welcome──▶ in ──the spawner's link is lost──▶ joining, with what it serves ──Welcome, same number──▶ in
//
// It asks to join until it is welcomed, for ever: a repeated Join (same nonce) gets the same answer. Its stages do not
// notice the loss of the spawner; the router finds the next one. A process that the spawner no longer knows by its
// number, or whose run has changed under it, ends with kRejoinStatus and is started again by its keeper. One per
// process; storage has one too and is never asked for a stage. Of a replica that ended it says what it was computing,
// and of those that its process's last life left behind at a crash, as soon as it is welcomed. A replica that hangs
// cannot be ended, for its thread does not come back: the process is given up.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/actor_types.h"
#include "runtime/base/clock.h"
#include "runtime/base/config.h"
#include "runtime/cluster/watch/hang_watch.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/clock_offset.h"
#include "runtime/trace/tracer.h"
#include "runtime/trace/work_note.h"

namespace shoal {

struct NodeAgentSettings {
  std::optional<int> threads;  // compute threads that this process was told to use; else the run's
  Join join;                   // everything but `previous`
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
  // Told the process and the level of the trace by the Welcome. None: this process keeps no trace.
  std::shared_ptr<Tracer> tracer = nullptr;
  std::shared_ptr<ActorBoard> board = nullptr;  // of this process: what its heartbeats tell
  std::vector<PeerRefused> refusals = {};       // told to the supervisor whenever it welcomes this process
  // What this process's replicas are at, and what those of its last life were at when it crashed.
  std::shared_ptr<WorkNote> note = std::make_shared<WorkNote>();
};

enum class Standing : std::uint8_t { kJoining, kIn, kEnding };

struct StagesOfProcess {
  std::map<caf::actor_addr, SpawnStage> running;
  Incarnation newest;              // that was started; orders come with rising numbers, or are repeats
  std::optional<SpawnStage> next;  // of a later branch: starts when those of this one have ended
  HangWatch hangs;
};

struct NodeAgentState {
  static inline const char* name = "node_agent";
  NodeAgentSettings settings;
  Welcome welcome;  // process 0 until welcomed
  Config config;
  Standing standing = Standing::kJoining;
  StagesOfProcess stages;
  std::uint64_t heartbeats = 0;
  std::uint32_t names_taken = 0;  // refusals in a row
  std::optional<Instant> leaving_since;
  ClockOffsets clock_offsets;  // of the spawner's clock
  ActorTrace trace;
  std::shared_ptr<ActorPulse> pulse;
};

NodeAgentActor::behavior_type node_agent(NodeAgentActor::stateful_pointer<NodeAgentState> self,
                                         NodeAgentSettings settings);

}  // namespace shoal
