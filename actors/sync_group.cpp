// Shell of a sync group: messages to the core, letters to the router, reasons to the log.
#include "actors/sync_group.h"

#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/sync/reduction.h"
#include "runtime/trace/trace_words.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = SyncGroupActor::stateful_pointer<SyncGroupState>;
using namespace std::chrono_literals;

constexpr auto kTickPeriod = 100ms;

[[nodiscard]] Instant now(Self self) { return self->clock().now(); }

// Orders, questions and the vote; what people are told of them under its own name.
void trace(Self self, const Letter& letter) {
  const auto* told = std::get_if<RunEvent>(&letter.body);
  if (told == nullptr) return trace_letter(self->state.trace, TraceKind::kPhase, letter);
  Cause cause;
  cause.step = self->state.core->step();
  cause.hop = self->state.settings.core.stage.value;
  trace_event(self->state.trace, cause, *told);
}

void perform(Self self, SyncGroupEffects effects) {
  const auto& settings = self->state.settings;
  for (const std::string& reason : effects.reasons) log_info(compose("sync_group/", settings.core.stage), reason);
  for (Letter& letter : effects.letters) {
    trace(self, letter);
    self->send(settings.router, std::move(letter));
  }
}

template <class Message>
void take(Self self, const Message& message) {
  perform(self, self->state.core->hear(message, now(self)));
}

// Answers to an order for a round, or for a step.
template <class Message>
void take_answer(Self self, const Message& message) {
  auto& state = self->state;
  if (!is_of_a_round(message.order)) return take(self, message);
  if (state.rounds) perform(self, state.rounds->hear(message, now(self)));
}

void begin_at(Self self, const View& past) {
  self->state.core->begin_at(past);
  if (self->state.rounds) self->state.rounds->begin_at(past);
}

void follow(Self self, const JournalEntry& entry) {
  perform(self, self->state.core->follow(entry, now(self)));
  if (self->state.rounds) perform(self, self->state.rounds->follow(entry, now(self)));
}

void tick(Self self) {
  self->delayed_send(self, kTickPeriod, Tick{});
  self->state.pulse->waiting(self->mailbox().size());
  perform(self, self->state.core->tick(now(self)));
  if (self->state.rounds) perform(self, self->state.rounds->tick(now(self)));
}

void adopt(Self self, SyncGroupSettings settings) {
  auto& state = self->state;
  state.core.emplace(settings.core);
  if (settings.rounds) state.rounds.emplace(*settings.rounds);
  state.settings = std::move(settings);
  const SyncGroupConfig& core = state.settings.core;
  state.trace = ActorTrace(state.settings.tracer, compose("sync_group/", core.stage), core.self);
  state.pulse = enter(state.settings.board, compose("sync_group/", core.stage), core.self.value);
  self->send(state.settings.router,
             Attach{Role::kSyncGroup, core.stage, core.self, caf::actor_cast<caf::actor>(self), state.pulse});
  self->delayed_send(self, kTickPeriod, Tick{});
}

}  // namespace

SyncGroupActor::behavior_type sync_group(Self self, SyncGroupSettings settings) {
  self->set_exception_handler(error_of);
  adopt(self, std::move(settings));
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kSyncGroup>(BodyHandlers{
          [self](const Manifest& message) { take_answer(self, message); },
          [self](const Reduced& message) { take_answer(self, message); },
          [self](const Progress& message) { take_answer(self, message); },
          [self](const AllAnswered& message) { take(self, message); },
          [self](const AskHolders& message) { take(self, message); },
      }),
      [self](const JournalSoFar& past) { begin_at(self, *past.view); },
      [self](const JournalEntry& entry) { follow(self, entry); },
      [](const Ping&) {},
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
