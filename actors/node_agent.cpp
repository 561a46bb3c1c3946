// Shell of a node's membership: Join until welcomed, then stages and heartbeats until told to end.
#include "actors/node_agent.h"

#include <algorithm>
#include <utility>

#include "actors/injected.h"
#include "runtime/base/config_file.h"
#include "runtime/base/log.h"

namespace shoal {
namespace {

using Self = NodeAgentActor::stateful_pointer<NodeAgentState>;
using namespace std::chrono_literals;

constexpr auto kJoinPeriod = 500ms;
constexpr std::uint32_t kJoinsMax = 20;     // unanswered: the spawner is not where it was
constexpr std::uint32_t kNameTakenMax = 6;  // a name may still be held by the process that this one replaces
constexpr int kStartAgain = 1;              // the keeper does

void to_supervisor(Self self, MessageBody body) {
  auto& state = self->state;
  self->send(state.settings.router, Letter{state.welcome.process, shoal::to_supervisor(), std::move(body)});
}

void end(Self self, int exit_status, const std::string& reason) {
  if (std::exchange(self->state.is_ending, true)) return;
  log_info("node_agent", "ending with status ", exit_status, ": ", reason);
  self->state.settings.end_process(exit_status, reason);
}

[[nodiscard]] Cause trace_cause(Self self) {
  Cause cause;
  cause.run = self->state.welcome.run;
  cause.term = self->state.welcome.term;
  return cause;
}

void begin_trace(Self self) {
  auto& state = self->state;
  if (!state.settings.tracer) return;
  state.settings.tracer->set_process(state.welcome.process);
  state.settings.tracer->set_level(state.config.trace.level);
  state.trace.record(TraceKind::kSpawn, trace_cause(self), 0, state.settings.join.name);
}

void accept(Self self, const Welcome& welcome) {
  auto& state = self->state;
  if (welcome.nonce != state.settings.join.nonce || state.welcome.process.value != 0) return;
  auto config = parse_config(welcome.config_toml, "the spawner's welcome");
  if (!config.ok()) return end(self, exit_code(config.failure().error), config.failure().message);
  state.config = config.value();
  set_log_level(log_level_named(state.config.log.level));
  const bool must_agree = state.config.sync.reduction == Reduction::kExact && !state.config.sync.allow_mixed_kernels;
  if (must_agree && state.settings.threads.value_or(state.config.run.threads) != state.config.run.threads) {
    return end(self, exit_code(Error::kRefused), "another number of threads than run.threads gives other bits");
  }
  state.welcome = welcome;
  state.settings.join.previous = welcome.process;
  begin_trace(self);
  log_info("node_agent", "welcomed as process ", welcome.process, " of run ", welcome.run);
  self->send(state.settings.router, Identify{welcome.process, welcome.run, welcome.term});
}

void start_stage(Self self, const SpawnStage& order) {
  auto& state = self->state;
  const bool is_running = std::any_of(state.stages.begin(), state.stages.end(),
                                      [&](const auto& entry) { return entry.second.replica == order.replica; });
  if (is_running || state.welcome.process.value == 0) return;
  log_info("node_agent", "starting stage/", order.stage, "/", order.slot, " as incarnation ", order.replica);
  auto stage = state.settings.start_stage(order, state.config, state.welcome);
  self->monitor(stage);
  state.stages.emplace(stage.address(), order);
}

void stage_down(Self self, const caf::down_msg& down) {
  const auto found = self->state.stages.find(down.source);
  if (found == self->state.stages.end()) return;
  const SpawnStage order = found->second;
  self->state.stages.erase(found);
  self->send(self->state.settings.router, Detach{Role::kStage, order.stage, order.replica});
  Cause cause = trace_cause(self);
  cause.branch = order.branch;
  self->state.trace.record(TraceKind::kExit, cause, 0, compose("stage/", order.stage, "/", order.slot));
  if (self->state.is_ending) return;
  to_supervisor(self, StageEnded{order.stage, order.replica, caf::to_string(down.reason), {}});
}

void tick(Self self) {
  auto& state = self->state;
  const bool is_in = state.welcome.process.value != 0;
  self->delayed_send(self, is_in ? std::chrono::milliseconds(state.config.swarm.heartbeat_ms) : kJoinPeriod, Tick{});
  if (is_in) {
    return to_supervisor(self, Heartbeat{state.welcome.process, ++state.heartbeats, 0, {}});
  }
  if (++state.joins_sent > kJoinsMax) return end(self, kStartAgain, "the spawner does not answer");
  to_supervisor(self, state.settings.join);
}

void refused(Self self, const JoinRefused& refusal) {
  if (refusal.reason == JoinRefusal::kNameTaken && self->state.joins_sent < kNameTakenMax) return;  // asked again
  // Who comes too late, as a restarted worker does when the run ends meanwhile, has nothing to answer for.
  const bool is_too_late = refusal.reason == JoinRefusal::kRunIsOver;
  end(self, is_too_late ? 0 : exit_code(Error::kRefused), refusal.explanation);
}

void fail_on_purpose(Self self, const Inject& order) {
  log_warn("node_agent", "injection ", order.id, " of ", order.whole_process ? "this process" : "this actor");
  return order.whole_process ? self->state.settings.fail_process(order) : suffer(order);
}

}  // namespace

NodeAgentActor::behavior_type node_agent(Self self, NodeAgentSettings settings) {
  self->state.trace = ActorTrace(settings.tracer, "node_agent");
  self->state.settings = std::move(settings);
  self->set_down_handler([self](const caf::down_msg& down) { stage_down(self, down); });
  self->send(self->state.settings.router, Attach{Role::kNodeAgent, {}, {}, caf::actor_cast<caf::actor>(self)});
  self->send(self, Tick{});
  return {
      [self](const Inject& order) { fail_on_purpose(self, order); },
      [self](const Welcome& welcome) { accept(self, welcome); },
      [self](const JoinRefused& refusal) { refused(self, refusal); },
      [self](const SpawnStage& order) { start_stage(self, order); },
      [](const EndStage&) {},
      [](const HeartbeatEcho&) {},
      [self](const EndProcess& order) { end(self, static_cast<int>(order.exit_status), order.reason); },
      [self](const ProcessLost& lost) { end(self, kStartAgain, "lost the spawner: " + lost.reason); },
      [self](const StopRequest& stop) {
        to_supervisor(self, Leaving{self->state.welcome.process, stop.reason});
        if (self->state.welcome.process.value == 0) end(self, stop.exit_status, stop.reason);
      },
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
