// Shell of RestartPolicy for an actor: its DOWN asks, the delay is a Tick to oneself.
#include "actors/caretaker.h"

#include <algorithm>
#include <random>

#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = CaretakerActor::stateful_pointer<CaretakerState>;

constexpr Duration kPause = std::chrono::milliseconds(500);

void announce(Self self, TraceKind traced, RunEventKind kind, const std::string& reason) {
  const auto& settings = self->state.settings;
  log_warn(settings.name, word_of(kind), ": ", reason);
  self->state.trace.record(traced, {}, 0, word_of(kind));
  if (settings.router) self->send(settings.router, Letter{{}, to_metrics(), RunEvent{kind, settings.name, reason, 0}});
}

// Waits in short pieces: a message that is due much later keeps its actor system from ending.
void wait_until(Self self, Instant due) {
  self->state.due = due;
  self->delayed_send(self, std::min<Duration>(due - self->clock().now(), kPause), Tick{});
}

void escalate(Self self, const GiveUp& verdict) {
  auto& state = self->state;
  announce(self, TraceKind::kFault, RunEventKind::kEscalated, verdict.reason);
  if (state.settings.after_budget == AfterBudget::kEndProcess) {
    return state.settings.end_process(1, state.settings.name + " ends again and again: " + verdict.reason);
  }
  wait_until(self, self->clock().now() + state.settings.limits.window);
}

void ended(Self self, const std::string& how) {
  auto& state = self->state;
  state.ward = nullptr;
  state.reason = how;
  const RestartDecision decision = state.policy->decide(how, self->clock().now());
  if (const auto* verdict = std::get_if<GiveUp>(&decision)) return escalate(self, *verdict);
  wait_until(self, self->clock().now() + std::get<RestartAfter>(decision).delay);
}

void start(Self self) {
  auto& state = self->state;
  if (self->clock().now() < state.due) return wait_until(self, state.due);
  state.ward = state.settings.start();
  if (!state.ward) return ended(self, "it could not be started");
  self->monitor(state.ward);
  if (!state.reason.empty()) announce(self, TraceKind::kRestart, RunEventKind::kRestarted, state.reason);
}

void ward_down(Self self, const caf::down_msg& down) {
  if (self->state.is_ending) return self->quit();
  ended(self, words_of(down.reason));
}

void end(Self self, const caf::exit_msg& exit) {
  self->state.is_ending = true;
  if (!self->state.ward) return self->quit();
  self->send_exit(self->state.ward, exit.reason);
}

}  // namespace

CaretakerState::~CaretakerState() {
  if (ward) caf::anon_send_exit(ward, caf::exit_reason::user_shutdown);
}

CaretakerActor::behavior_type caretaker(Self self, CaretakerSettings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  state.policy.emplace(state.settings.limits, std::random_device{}());
  state.trace = ActorTrace(state.settings.tracer, state.settings.name);
  self->set_down_handler([self](const caf::down_msg& down) { ward_down(self, down); });
  self->set_exit_handler([self](const caf::exit_msg& exit) { end(self, exit); });
  start(self);
  return {
      [](const Inject& order) { suffer(order); },
      [self](const Tick&) { start(self); },
  };
}

}  // namespace shoal
