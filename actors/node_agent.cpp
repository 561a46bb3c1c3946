// Shell of a node's membership: Join until welcomed, then stages and heartbeats until told to end.
#include "actors/node_agent.h"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "actors/injected.h"
#include "runtime/base/config_file.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/base/restart_policy.h"
#include "runtime/transport/error_words.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

using Self = NodeAgentActor::stateful_pointer<NodeAgentState>;
using namespace std::chrono_literals;

constexpr auto kJoinPeriod = 500ms;
constexpr std::uint32_t kNameTakenMax = 6;  // a name may still be held by the process that this one replaces
constexpr auto kPartingTime = 5s;

void to_supervisor(Self self, MessageBody body) {
  auto& state = self->state;
  self->send(state.settings.router, Letter{state.welcome.process, shoal::to_supervisor(), std::move(body)});
}

void end(Self self, int exit_status, const std::string& reason) {
  if (std::exchange(self->state.standing, Standing::kEnding) == Standing::kEnding) return;
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
  state.settings.tracer->set_process(state.welcome.process, state.welcome.term);
  state.trace.record(TraceKind::kSpawn, trace_cause(self), 0, state.settings.join.name);
}

// What a running stage was made for, of what a resumed run may change; the rest changes under it. All replicas of a
// stage must take each other's parts, so whoever is started later needs the same. On a branch that a person began, what
// a stage computes is another thing, too.
[[nodiscard]] bool fits_stages(const Config& old, const Config& now) {
  const auto made_for = [](const Config& config) {
    return std::tie(config.run.threads, config.pipeline.stages, config.pipeline.schedule, config.pipeline.recompute,
                    config.sync.wire, config.sync.error_feedback, config.sync.backend);
  };
  return made_for(old) == made_for(now) && resume_conflicts(old, now).empty();
}

void take_config(Self self, const Config& config) {
  auto& state = self->state;
  state.config = config;
  set_log_level(log_level_named(config.log.level));
  if (state.settings.tracer) state.settings.tracer->set_level(config.trace.level);
}

void ask_to_join(Self self) {
  Join join = self->state.settings.join;
  for (const auto& [address, stage] : self->state.stages.running) {
    join.serves.push_back({stage.stage, stage.slot, stage.replica, stage.branch, stage.version});
  }
  to_supervisor(self, std::move(join));
}

void lost_spawner(Self self, const ProcessLost& lost) {
  auto& state = self->state;
  log_warn("node_agent", "lost the spawner: ", lost.reason, "; looking for it");
  if (state.standing != Standing::kIn) return;
  state.standing = Standing::kJoining;
  ask_to_join(self);
}

void tell_refusals(Self self) {
  for (PeerRefused refusal : self->state.settings.refusals) {
    refusal.process = self->state.welcome.process;
    to_supervisor(self, std::move(refusal));
  }
}

// Again: the number must be the same, and the stages must be what the run wants now.
void accept_again(Self self, const Welcome& welcome) {
  auto& state = self->state;
  if (state.standing != Standing::kJoining || welcome.term < state.welcome.term) return;
  const auto config = parse_config(welcome.config_toml, "the spawner's welcome");
  if (!config.ok()) return end(self, exit_code(config.failure().error), config.failure().message);
  if (welcome.process != state.welcome.process) return end(self, kRejoinStatus, "the spawner knows it no longer");
  if (!state.stages.running.empty() && !fits_stages(state.config, config.value())) {
    return end(self, kRejoinStatus, "the run goes on with other stages");
  }
  take_config(self, config.value());
  state.welcome = welcome;
  state.standing = Standing::kIn;
  state.names_taken = 0;
  log_info("node_agent", "welcomed again as process ", welcome.process, " by the spawner of term ", welcome.term);
  self->send(state.settings.router, Identify{welcome.process, welcome.run, welcome.term});
  tell_refusals(self);
}

// Said again with every start of a stage: while the supervisor does not know of the crash, nobody believes that this
// process speaks of a replica that was another's.
void tell_left_behind(Self self) {
  const auto& state = self->state;
  for (const NotedWork& work : state.settings.note->left_behind()) {
    if (work.run != state.welcome.run) continue;
    to_supervisor(self, StageEnded{work.stage, work.replica, "its process crashed",
                                   ComputedMicrobatch{work.step, work.microbatch}});
  }
}

void accept(Self self, const Welcome& welcome) {
  auto& state = self->state;
  if (welcome.nonce != state.settings.join.nonce) return;
  if (state.welcome.process.value != 0) return accept_again(self, welcome);
  auto config = parse_config(welcome.config_toml, "the spawner's welcome");
  if (!config.ok()) return end(self, exit_code(config.failure().error), config.failure().message);
  take_config(self, config.value());
  const bool must_agree = state.config.sync.reduction == Reduction::kExact && !state.config.sync.allow_mixed_kernels;
  if (must_agree && state.settings.threads.value_or(state.config.run.threads) != state.config.run.threads) {
    return end(self, exit_code(Error::kRefused), "another number of threads than run.threads gives other bits");
  }
  state.welcome = welcome;
  state.standing = Standing::kIn;
  state.settings.join.previous = welcome.process;
  begin_trace(self);
  log_info("node_agent", "welcomed as process ", welcome.process, " of run ", run_text(welcome.run));
  self->send(state.settings.router, Identify{welcome.process, welcome.run, welcome.term});
  tell_left_behind(self);
  tell_refusals(self);
}

void end_stage(Self self, const EndStage& order) {
  auto& state = self->state;
  if (state.stages.next && state.stages.next->replica == order.replica) state.stages.next.reset();
  for (const auto& [address, stage] : state.stages.running) {
    if (stage.replica != order.replica) continue;
    log_info("node_agent", "ending stage/", stage.stage, "/", stage.slot, ": ", order.reason);
    self->send_exit(address, caf::make_error(caf::sec::runtime_error, order.reason));
  }
}

// A device holds one branch at a time: who asks for a later one means that the earlier one is over.
[[nodiscard]] bool waits_for_older(Self self, const SpawnStage& order) {
  bool is_waiting = false;
  for (const auto& [address, stage] : self->state.stages.running) {
    if (stage.branch >= order.branch) continue;
    is_waiting = true;
    self->send_exit(caf::actor_cast<caf::actor>(address), caf::exit_reason::user_shutdown);
  }
  return is_waiting;
}

void tell_ended(Self self, const SpawnStage& order, const std::string& reason) {
  StageEnded ended{order.stage, order.replica, reason, {}};
  if (const auto work = self->state.settings.note->take(order.replica)) {
    ended.computing = ComputedMicrobatch{work->step, work->microbatch};
  }
  to_supervisor(self, std::move(ended));
}

void start_stage(Self self, const SpawnStage& order) {
  auto& state = self->state;
  const bool is_running = std::any_of(state.stages.running.begin(), state.stages.running.end(),
                                      [&](const auto& entry) { return entry.second.replica == order.replica; });
  if (is_running || state.welcome.process.value == 0 || state.standing == Standing::kEnding) return;
  if (order.replica <= state.stages.newest) return tell_ended(self, order, "it has ended");  // a number starts once
  if (waits_for_older(self, order)) {
    state.stages.next = order;
    return;
  }
  log_info("node_agent", "starting stage/", order.stage, "/", order.slot, " as incarnation ", order.replica);
  state.stages.newest = order.replica;
  try {
    auto stage = state.settings.start_stage(order, state.config, state.welcome);
    self->monitor(stage);
    state.stages.running.emplace(stage.address(), order);
  } catch (const std::system_error& problem) {  // it has a thread of its own, and the machine may give none
    if (!is_lack_of_memory(problem)) throw;
    return tell_ended(self, order, memory_lack_text(problem));
  }
  tell_left_behind(self);
}

void stage_down(Self self, const caf::down_msg& down) {
  const auto found = self->state.stages.running.find(down.source);
  if (found == self->state.stages.running.end()) return;
  const SpawnStage order = found->second;
  self->state.stages.running.erase(found);
  self->state.stages.hangs.forget(order.replica);
  self->send(self->state.settings.router, Detach{Role::kStage, order.stage, order.replica});
  Cause cause = trace_cause(self);
  cause.branch = order.branch;
  const std::string name = compose("stage/", order.stage, "/", order.slot);
  self->state.trace.record(TraceKind::kExit, cause, 0, name);
  if (self->state.settings.board) self->state.settings.board->forget(name);
  if (self->state.standing == Standing::kEnding) return;
  tell_ended(self, order, words_of(down.reason));
  if (const auto next = std::exchange(self->state.stages.next, std::nullopt)) start_stage(self, *next);
}

void ask_stages(Self self) {
  auto& state = self->state;
  for (const auto& [address, order] : state.stages.running) {
    const auto actor = caf::actor_cast<caf::actor>(address);
    if (!actor || !state.stages.hangs.asks(order.replica, self->clock().now())) continue;
    const auto answered = [self, replica = order.replica](const WorkSoFar& work) {
      const auto longest = std::chrono::duration<double, std::milli>(work.longest_ms);
      self->state.stages.hangs.answered(replica, work.pieces, std::chrono::duration_cast<Duration>(longest));
    };
    self->request(actor, caf::infinite, Ping{}).then(answered, [](const caf::error&) {});  // its end is heard of
  }
}

void give_up_a_hang(Self self) {
  auto& state = self->state;
  const auto hang =
      state.stages.hangs.find(std::chrono::milliseconds(state.config.swarm.dead_after_ms), self->clock().now());
  if (!hang) return;
  const auto is_it = [&](const auto& entry) { return entry.second.replica == hang->replica; };
  const auto found = std::find_if(state.stages.running.begin(), state.stages.running.end(), is_it);
  if (found == state.stages.running.end()) return;
  const SpawnStage& order = found->second;
  const std::string reason = compose("it hangs: at one piece of work for ", milliseconds(hang->busy),
                                     " ms, the longest before took ", milliseconds(hang->longest), " ms");
  tell_ended(self, order, reason);
  state.standing = Standing::kEnding;
  const std::string what = compose("stage/", order.stage, "/", order.slot, ": ", reason);
  state.trace.record(TraceKind::kFault, trace_cause(self), 0, what);
  log_error("node_agent", what, "; the process ends");
  state.settings.give_up_process(what);
}

// Said again until somebody lets it go: a spawner that was started again has not heard it. Without one to hear it, what
// it serves is worth a short wait.
void press_to_leave(Self self) {
  auto& state = self->state;
  if (state.standing == Standing::kIn) {
    return to_supervisor(self, Leaving{state.welcome.process, "it was asked to leave"});
  }
  const bool is_waiting = !state.stages.running.empty() && self->clock().now() - *state.leaving_since < kPartingTime;
  if (!is_waiting) end(self, 0, "asked to leave, and no spawner answers");
}

void leave(Self self) {
  if (!self->state.leaving_since) self->state.leaving_since = self->clock().now();
  press_to_leave(self);
}

[[nodiscard]] std::int64_t clock_ns(Self self) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(self->clock().now().time_since_epoch()).count();
}

void trace_clock(Self self, const HeartbeatEcho& echo) {
  const auto offset = self->state.clock_offsets.hear(echo, clock_ns(self));
  if (!offset) return;
  TraceEvent event;
  event.kind = TraceKind::kClock;
  event.cause = trace_cause(self);
  event.subject = static_cast<std::uint64_t>(offset->ahead_ns);
  event.bytes = offset->round_trip_ns;
  self->state.trace.record(event);
}

void beat(Self self) {
  auto& state = self->state;
  Heartbeat heartbeat{state.welcome.process, ++state.heartbeats, clock_ns(self), {}};
  if (state.settings.board) heartbeat.actors = state.settings.board->list(self->clock().now());
  to_supervisor(self, std::move(heartbeat));
}

void tick(Self self) {
  auto& state = self->state;
  const bool is_in = state.standing != Standing::kJoining;
  self->delayed_send(self, is_in ? std::chrono::milliseconds(state.config.swarm.heartbeat_ms) : kJoinPeriod, Tick{});
  state.pulse->waiting(self->mailbox().size());
  if (is_in) beat(self);
  ask_stages(self);
  if (state.standing != Standing::kEnding) give_up_a_hang(self);
  if (state.leaving_since) press_to_leave(self);
  if (state.standing == Standing::kJoining) ask_to_join(self);
}

void refused(Self self, const JoinRefused& refusal) {
  if (self->state.standing != Standing::kJoining || refusal.nonce != self->state.settings.join.nonce) return;
  const bool is_taken = refusal.reason == JoinRefusal::kNameTaken;
  if (is_taken && ++self->state.names_taken < kNameTakenMax) return;  // asked again
  // Who comes too late, as a restarted worker does when the run ends meanwhile, has nothing to answer for.
  const bool is_too_late = refusal.reason == JoinRefusal::kRunIsOver;
  end(self, is_too_late ? 0 : exit_code(Error::kRefused), refusal.explanation);
}

void fail_on_purpose(Self self, const Inject& order) {
  log_warn("node_agent", "injection ", order.id, " of ", order.whole_process ? "this process" : "this actor");
  if (!order.whole_process) return suffer(order);
  if (order.how != InjectKind::kFreeze) self->state.standing = Standing::kEnding;
  self->state.settings.fail_process(order);
}

}  // namespace

NodeAgentActor::behavior_type node_agent(Self self, NodeAgentSettings settings) {
  self->set_exception_handler(error_of);
  self->state.trace = ActorTrace(settings.tracer, "node_agent");
  self->state.settings = std::move(settings);
  self->set_down_handler([self](const caf::down_msg& down) { stage_down(self, down); });
  self->state.pulse = enter(self->state.settings.board, "node_agent");
  self->send(self->state.settings.router,
             Attach{Role::kNodeAgent, {}, {}, caf::actor_cast<caf::actor>(self), self->state.pulse});
  self->send(self, Tick{});
  return {
      [self](const Inject& order) { fail_on_purpose(self, order); },
      [self](const Welcome& welcome) { accept(self, welcome); },
      [self](const JoinRefused& refusal) { refused(self, refusal); },
      [self](const SpawnStage& order) { start_stage(self, order); },
      [self](const EndStage& order) { end_stage(self, order); },
      [self](const HeartbeatEcho& echo) { trace_clock(self, echo); },
      [self](const EndProcess& order) {
        if (order.storage_waits) self->state.settings.storage_waits();
        end(self, static_cast<int>(order.exit_status), order.reason);
      },
      [self](const ProcessLost& lost) { lost_spawner(self, lost); },
      [self](const StopRequest&) { leave(self); },
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
