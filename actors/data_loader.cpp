// Shell of the data loader: messages to the core, letters to the router.
#include "actors/data_loader.h"

#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/trace/trace_words.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = DataLoaderActor::stateful_pointer<DataLoaderState>;
using namespace std::chrono_literals;

constexpr auto kTickPeriod = 100ms;

[[nodiscard]] Instant now(Self self) { return self->clock().now(); }

void trace_path(Self self, const Forward& forward) {
  auto& state = self->state;
  TraceEvent event;
  event.cause = forward.cause;
  const auto step = std::pair{forward.cause.branch, forward.cause.step};
  if (forward.purpose != Purpose::kTrain) return;
  if (std::exchange(state.traced, step) != step) {
    event.kind = TraceKind::kPlan;
    event.bytes = state.settings.core.microbatches;
    state.trace.record(event);
  }
  if (!state.trace.wants(TraceKind::kPath)) return;
  event.kind = TraceKind::kPath;
  event.bytes = forward.path.size();
  for (const Incarnation replica : forward.path) {
    event.subject = replica.value;
    event.set_detail(state.core->reason_of(event.cause.microbatch, event.cause.hop));
    state.trace.record(event);
    ++event.cause.hop;
  }
}

// Traces paths and letters to sync groups of this process; the router's trace has what goes to other processes.
void trace(Self self, const Letter& letter) {
  const bool stays_here = std::holds_alternative<AllAnswered>(letter.body);
  if (stays_here) trace_letter(self->state.trace, TraceKind::kSend, letter);
  if (const auto* forward = std::get_if<Forward>(&letter.body)) trace_path(self, *forward);
}

void post(Self self, std::vector<Letter> letters) {
  for (Letter& letter : letters) {
    trace(self, letter);
    self->send(self->state.settings.router, std::move(letter));
  }
}

void take(Self self, const Backward& answer) {
  if (const auto& work = self->state.settings.work) work->add(answer);
  post(self, self->state.core->answered(answer, now(self)));
}

void tick(Self self) {
  self->delayed_send(self, kTickPeriod, Tick{});
  self->state.pulse->waiting(self->mailbox().size());
  post(self, self->state.core->tick(now(self)));
}

void adopt(Self self, DataLoaderSettings settings) {
  self->state.core.emplace(settings.core, *settings.samples);
  self->state.trace = ActorTrace(settings.tracer, "data_loader");
  self->state.settings = std::move(settings);
  self->state.pulse = enter(self->state.settings.board, "data_loader");
  self->send(self->state.settings.router,
             Attach{Role::kDataLoader, {}, {}, caf::actor_cast<caf::actor>(self), self->state.pulse});
  self->send(self, Tick{});
}

}  // namespace

DataLoaderActor::behavior_type data_loader(Self self, DataLoaderSettings settings) {
  self->set_exception_handler(error_of);
  adopt(self, std::move(settings));
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kDataLoader>(BodyHandlers{
          [self](const Backward& answer) { take(self, answer); },
          [self](const Missing& missing) { self->state.core->missing(missing, now(self)); },
          [self](const Holders& holders) { post(self, self->state.core->holders(holders, now(self))); },
      }),
      [self](const JournalSoFar& past) { self->state.core->begin_at(*past.view); },
      [self](const JournalEntry& entry) { post(self, self->state.core->follow(entry, now(self))); },
      [self](const AvoidReplicas& leavers) { self->state.core->avoid(leavers.replicas); },
      [](const Ping&) {},
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
