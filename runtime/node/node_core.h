// The core of a node agent: how a process comes into the run, stays in it and leaves it.
//
//   joining ──Welcome──▶ in ──the spawner's link is lost──▶ joining, with what it serves ──Welcome, same number──▶ in
//      │ refused              │ told to end, let go, hangs                                                         │
//      └──────────────────────┴──────────────────────────▶ ending ◀──another number, other stages (kRejoinStatus)──┘
//
// It asks to join until it is welcomed, for ever: a repeated Join (same nonce) gets the same answer. Its stages do not
// notice the loss of the spawner. A process that the spawner no longer knows by its number, or whose run has changed
// under it, ends with kRejoinStatus and is started again by its keeper. Time comes in; effects go out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"
#include "runtime/base/config.h"
#include "runtime/node/hosted_stages.h"
#include "runtime/node/node_effects.h"
#include "runtime/trace/clock_offset.h"
#include "runtime/trace/tracer.h"

namespace shoal {

struct NodeSettings {
  std::optional<int> threads;              // compute threads that this process was told to use; else the run's
  Join join;                               // everything but `previous`
  std::vector<PeerRefused> refusals = {};  // told to the supervisor whenever it welcomes this process
  // Notes what this process's replicas are at, and what those of its last life were at when it crashed.
  std::shared_ptr<WorkNote> note = std::make_shared<WorkNote>();
  // Told the process and the level of the trace by the Welcome. None: this process keeps no trace.
  std::shared_ptr<Tracer> tracer = nullptr;
};

// Says if a running stage may go on under another configuration of its run.
[[nodiscard]] bool fits_stages(const Config& made_for, const Config& now);

class NodeCore {
 public:
  explicit NodeCore(NodeSettings settings);

  [[nodiscard]] NodeEffects welcomed(const Welcome& welcome);
  [[nodiscard]] NodeEffects refused(const JoinRefused& refusal);
  [[nodiscard]] NodeEffects spawner_lost(const ProcessLost& lost);
  // A signal wants this process to leave.
  [[nodiscard]] NodeEffects leave(Instant now);
  // A person does, by the spawner.
  [[nodiscard]] NodeEffects leave(const LeaveRun& order);
  [[nodiscard]] NodeEffects end(const EndProcess& order);
  [[nodiscard]] NodeEffects fail(const Inject& order);
  // actors: of this process, as its heartbeats tell.
  [[nodiscard]] NodeEffects tick(std::vector<ActorHealth> actors, const DeviceUse& use, Instant now);
  void hear_echo(const HeartbeatEcho& echo, Instant now);

  [[nodiscard]] NodeEffects spawn(const SpawnStage& order);
  [[nodiscard]] NodeEffects stage_started(const SpawnStage& order) { return stages_.started(order, welcome_.run); }
  [[nodiscard]] NodeEffects start_failed(const SpawnStage& order, const std::string& why);
  [[nodiscard]] NodeEffects end_stage(const EndStage& order) { return stages_.end(order); }
  [[nodiscard]] NodeEffects stage_down(Incarnation replica, const std::string& reason);
  void stage_answered(Incarnation replica, std::uint64_t pieces, Duration longest) {
    stages_.answered(replica, pieces, longest);
  }

  // The run's, from the newest Welcome.
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Welcome& welcome() const { return welcome_; }  // process 0 until welcomed

 private:
  enum class Standing : std::uint8_t { kJoining, kIn, kEnding };

  [[nodiscard]] NodeEffects welcomed_first(const Welcome& welcome, const Config& config);
  [[nodiscard]] NodeEffects welcomed_again(const Welcome& welcome, const Config& config);
  [[nodiscard]] NodeEffect use(const Config& config);
  void tell_refusals(NodeEffects& out) const;
  [[nodiscard]] NodeEffect ask_to_join() const;
  [[nodiscard]] NodeEffects end_process(int status, const std::string& reason);
  [[nodiscard]] NodeEffects press_to_leave(Instant now);
  [[nodiscard]] NodeEffect beat(std::vector<ActorHealth> actors, const DeviceUse& use, Instant now);
  [[nodiscard]] NodeEffects give_up_a_hang(Instant now);
  [[nodiscard]] Cause trace_cause() const;

  NodeSettings settings_;
  ActorTrace trace_;
  Welcome welcome_;
  Config config_;
  Standing standing_ = Standing::kJoining;
  HostedStages stages_;
  std::uint64_t heartbeats_ = 0;
  std::uint32_t names_taken_ = 0;  // refusals in a row
  // Said to the supervisor until it lets this process go.
  std::optional<std::string> leaves_because_;
  std::optional<Instant> signalled_at_;
  ClockOffsets clock_offsets_;  // of the spawner's clock
};

}  // namespace shoal
