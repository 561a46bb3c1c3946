// Shell of a node's membership: messages to the core, its effects to router, stages and process.
#include "actors/node_agent.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = NodeAgentActor::stateful_pointer<NodeAgentState>;

void perform(Self self, const NodeEffects& effects);

[[nodiscard]] Instant now(Self self) { return self->clock().now(); }

// A stage has a thread of its own, and the machine may give none.
void start(Self self, const SpawnStage& order) {
  auto& state = self->state;
  NodeEffects next;
  try {
    const auto stage = state.settings.start_stage(order, state.core->config(), state.core->welcome());
    self->monitor(stage);
    state.stages.emplace(order.replica, stage.address());
    next = state.core->stage_started(order);
  } catch (const std::system_error& problem) {
    if (!is_lack_of_memory(problem)) throw;
    next = state.core->start_failed(order, memory_lack_text(problem));
  }
  perform(self, next);
}

// The end of a stage that does not answer is heard of by itself.
void ask(Self self, Incarnation replica) {
  const auto stage = caf::actor_cast<caf::actor>(self->state.stages.at(replica));
  if (!stage) return;
  const auto answered = [self, replica](const WorkSoFar& work) {
    const auto longest = std::chrono::duration<double, std::milli>(work.longest_ms);
    self->state.core->stage_answered(replica, work.pieces, std::chrono::duration_cast<Duration>(longest));
  };
  self->request(stage, caf::infinite, Ping{}).then(answered, [](const caf::error&) {});
}

void stage_down(Self self, const caf::down_msg& down) {
  auto& stages = self->state.stages;
  const auto is_it = [&](const auto& stage) { return stage.second == down.source; };
  const auto found = std::find_if(stages.begin(), stages.end(), is_it);
  if (found == stages.end()) return;
  const Incarnation replica = found->first;
  stages.erase(found);
  perform(self, self->state.core->stage_down(replica, words_of(down.reason)));
}

struct Performer {
  Self self;
  NodeAgentState& state;

  void operator()(const TellSupervisor& effect) const {
    self->send(state.settings.router, Letter{state.core->welcome().process, to_supervisor(), effect.body});
  }
  void operator()(const TellNumber& effect) const {
    const Welcome& number = effect.welcome;
    self->send(state.settings.router, Identify{number.process, number.run, number.term});
  }
  void operator()(const UseLogLevel& effect) const { set_log_level(effect.level); }
  void operator()(const StartStage& effect) const { start(self, effect.order); }
  void operator()(const StopStage& effect) const {
    const caf::error ordinary = caf::exit_reason::user_shutdown;
    const auto reason = effect.reason ? caf::make_error(caf::sec::runtime_error, *effect.reason) : ordinary;
    self->send_exit(state.stages.at(effect.replica), reason);
  }
  void operator()(const ForgetStage& effect) const {
    self->send(state.settings.router, Detach{Role::kStage, effect.order.stage, effect.order.replica});
    if (state.settings.board) state.settings.board->forget(effect.name);
  }
  void operator()(const AskStage& effect) const { ask(self, effect.replica); }
  void operator()(const LookAgain& effect) const { self->delayed_send(self, effect.pause, Tick{}); }
  void operator()(const AwaitStorage&) const { state.settings.storage_waits(); }
  void operator()(const EndThisProcess& effect) const { state.settings.end_process(effect.status, effect.reason); }
  void operator()(const GiveUpProcess& effect) const { state.settings.give_up_process(effect.reason); }
  void operator()(const FailOnPurpose& effect) const {
    effect.order.whole_process ? state.settings.fail_process(effect.order) : suffer(effect.order);
  }
};

void perform(Self self, const NodeEffects& effects) {
  for (const NodeEffect& effect : effects) std::visit(Performer{self, self->state}, effect);
}

void tick(Self self) {
  self->state.pulse->waiting(self->mailbox().size());
  const NodeAgentSettings& settings = self->state.settings;
  auto actors = settings.board ? settings.board->list(now(self)) : std::vector<ActorHealth>{};
  const DeviceUse use = settings.meter ? settings.meter->lately(now(self)) : DeviceUse{};
  perform(self, self->state.core->tick(std::move(actors), use, now(self)));
}

}  // namespace

NodeAgentActor::behavior_type node_agent(Self self, NodeAgentSettings settings) {
  self->set_exception_handler(error_of);
  auto& state = self->state;
  state.core.emplace(settings);
  state.settings = std::move(settings);
  self->set_down_handler([self](const caf::down_msg& down) { stage_down(self, down); });
  state.pulse = enter(state.settings.board, "node_agent");
  self->send(state.settings.router, Attach{Role::kNodeAgent, {}, {}, caf::actor_cast<caf::actor>(self), state.pulse});
  self->send(self, Tick{});
  return {
      [self](const Inject& order) { perform(self, self->state.core->fail(order)); },
      hear<Hearer::kNodeAgent>(BodyHandlers{
          [self](const Welcome& welcome) { perform(self, self->state.core->welcomed(welcome)); },
          [self](const JoinRefused& refusal) { perform(self, self->state.core->refused(refusal)); },
          [self](const SpawnStage& order) { perform(self, self->state.core->spawn(order)); },
          [self](const EndStage& order) { perform(self, self->state.core->end_stage(order)); },
          [self](const HeartbeatEcho& echo) { self->state.core->hear_echo(echo, now(self)); },
          [self](const LeaveRun& order) { perform(self, self->state.core->leave(order)); },
          [self](const EndProcess& order) { perform(self, self->state.core->end(order)); },
          [self](const ProcessLost& lost) { perform(self, self->state.core->spawner_lost(lost)); },
      }),
      [self](const StopRequest&) { perform(self, self->state.core->leave(now(self))); },
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
