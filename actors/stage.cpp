// Shell of a replica: messages to its core; stage_effects.h performs what the core answers.
#include "actors/stage.h"

#include <algorithm>
#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "actors/stage_effects.h"
#include "runtime/base/log.h"
#include "runtime/storage/inner_parts.h"
#include "runtime/trace/state_layout.h"
#include "runtime/trace/trace_words.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = StageSelf;
using namespace std::chrono_literals;

constexpr auto kTickPeriod = 500ms;

void schedule(Self self) {
  if (self->state.is_scheduled || !self->state.core->has_job()) return;
  self->state.is_scheduled = true;
  self->send(self, RunNextJob{});
}

// When the core turned the message away: an answer that the ledger or the fence refused, an order that is stale.
template <class Message>
void trace_if_dropped(Self self, const Message& message) {
  auto& state = self->state;
  const std::uint64_t count = state.core->counters().dropped_answers + state.core->counters().stale_orders;
  if (std::exchange(state.marks.turned_away, count) == count) return;
  Cause cause = trace_cause(self, {});
  if constexpr (requires { message.cause.microbatch; }) cause.microbatch = message.cause.microbatch;
  state.trace.record(
      TraceKind::kDrop, cause, 0,
      std::is_same_v<Message, Forward> ? "Forward"
      : requires { message.cause; }    ? "Backward"
                                       : "stale order");
}

void trace_fill(Self self) {
  auto& state = self->state;
  const ReplicaFill fill = state.core->fill();
  state.marks.waiting.note(state.trace, fill.waiting, fill.waiting_max);
  state.marks.held_parts.note(state.trace, fill.held_parts, kHeldPartsMax);
  state.marks.evaluations.note(state.trace, fill.evaluations, fill.evaluations_max);
}

template <class Message>
void tell(Self self, const Message& message) {
  auto effects = self->state.core->receive(message, now(self));
  trace_if_dropped(self, message);
  trace_fill(self);
  perform(self, std::move(effects));
  schedule(self);
}

void tell(Self self, const JournalEntry& entry) {
  auto& state = self->state;
  const bool is_next = entry.position.value == state.core->position().value + 1;  // the core ignores all others
  if (is_next) state.in_trace.cause.branch = entry.branch;
  if (is_next) trace_entry(state.trace, entry);
  tell<JournalEntry>(self, entry);
}

void tell(Self self, const std::shared_ptr<const View>& past) {
  perform(self, self->state.core->begin_at(*past, now(self)));
}

void tell(Self self, const TensorTimed& tensor) { self->state.core->transfer_timed(tensor.milliseconds); }

void tell(Self self, const CollectiveEvent& event) {
  perform(self, self->state.core->receive(event, now(self)));
  schedule(self);
}

void tell(Self self, const HeldTick&) { perform(self, self->state.core->tick(now(self))); }

// Bodies that a stage does not hear are not held.
void tell(Self self, const MessageBody& body) {
  std::visit(
      [self](const auto& message) {
        if constexpr (includes(kHearers<std::decay_t<decltype(message)>>, Hearer::kStage) &&
                      !std::is_same_v<std::decay_t<decltype(message)>, Inject>) {
          tell(self, message);
        }
      },
      body);
}

// Takes it now, or behind the jobs that have to end first.
template <class Message>
void take(Self self, const Message& message) {
  if (self->state.core->admits(message)) tell(self, message);
}

void job_ended(Self self, const JobEnded& ended) {
  take_end(self, *ended.end);
  while (const auto held = self->state.core->take_held()) {
    std::visit([self](const auto& message) { tell(self, message); }, *held);
  }
  schedule(self);
}

void run_next(Self self) {
  self->state.pulse->waiting(self->mailbox().size());
  self->state.is_scheduled = false;
  const Instant began = now(self);
  perform(self, self->state.core->run_next(began));
  WorkSoFar& work = self->state.marks.work;
  ++work.pieces;
  work.longest_ms = std::max(work.longest_ms, milliseconds(now(self) - began));
  schedule(self);
}

void tick(Self self) {
  self->delayed_send(self, kTickPeriod, Tick{});
  self->state.pulse->waiting(self->mailbox().size());
  take(self, HeldTick{});
}

[[nodiscard]] ReplicaSetup make_setup(const StageSettings& settings, std::vector<std::string> tensor_names) {
  const SpawnStage& order = settings.order;
  ReplicaSetup setup;
  setup.run = settings.run;
  setup.branch = order.branch;
  setup.term = settings.term;
  setup.stage = order.stage;
  setup.stage_count = static_cast<std::uint32_t>(settings.config.pipeline.stages);
  setup.self = order.replica;
  setup.process = settings.process;
  setup.version = order.version;
  setup.optimizer_step = order.optimizer_step;
  setup.microbatch_count = static_cast<std::uint32_t>(microbatches_per_step(settings.config));
  setup.schedule = settings.config.pipeline.schedule;
  setup.accumulations_max = accumulations_that_may_wait(settings.config.pipeline, order.stage);
  setup.from_checkpoint = order.from_checkpoint;
  setup.donor = order.donor;
  setup.donor_seen_at = order.position;
  setup.image = settings.image;
  setup.tensor_names = std::move(tensor_names);
  if (settings.config.sync.mode == SyncMode::kDiloco) {
    setup.rounds = settings.config.sync;
    setup.rounds->inner_state = inner_state_of(settings.config);
  }
  setup.clip_norm = settings.config.optim.clip_norm;
  setup.collective = settings.collective;
  setup.collective_lack = settings.collective_lack;
  return setup;
}

void adopt(Self self, StageSettings settings) {
  auto& state = self->state;
  state.router = settings.router;
  state.runners.jobs = settings.make_runner([stage = self->address()](JobEnd end) {
    const auto actor = caf::actor_cast<caf::actor>(stage);
    if (actor) caf::anon_send(actor, JobEnded{std::make_shared<const JobEnd>(std::move(end))});
  });
  if (settings.collective) {
    state.runners.collective = settings.make_collective([stage = self->address()](CollectiveNews news) {
      const auto actor = caf::actor_cast<caf::actor>(stage);
      auto event = std::make_shared<const CollectiveEvent>(CollectiveEvent{std::move(news)});
      if (actor) caf::anon_send(actor, CollectiveTold{std::move(event)});
    });
  }
  state.note = settings.note;
  state.marks.on_device.emplace(settings.on_device);
  state.replica = settings.order.replica;
  std::vector<std::string> tensor_names = state.runners.jobs->tensor_names();
  state.in_trace.state_layout = state_layout(tensor_names);
  state.core.emplace(make_setup(settings, std::move(tensor_names)), now(self));
  const SpawnStage& order = settings.order;
  state.trace = ActorTrace(settings.tracer, compose("stage/", order.stage, "/", order.slot), order.replica);
  state.in_trace.cause.run = settings.run;
  state.in_trace.cause.term = settings.term;
  state.in_trace.cause.branch = order.branch;
  state.in_trace.cause.hop = order.stage.value;
  state.trace.record(TraceKind::kSpawn, trace_cause(self, {}));
  state.title = compose("stage/", order.stage, "/", order.slot);
  state.pulse = enter(settings.board, state.title, order.replica.value);
  self->send(state.router,
             Attach{Role::kStage, order.stage, order.replica, caf::actor_cast<caf::actor>(self), state.pulse});
  self->delayed_send(self, kTickPeriod, Tick{});
  perform(self, state.core->begin(now(self)));
}

}  // namespace

StageActor::behavior_type stage(Self self, StageSettings settings) {
  self->set_exception_handler(error_of);
  adopt(self, std::move(settings));
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kStage>(BodyHandlers{
          [self](const Forward& message) { take(self, message); },
          [self](const Backward& message) { take(self, message); },
          [self](const Ask& message) { take(self, message); },
          [self](const Open& message) { take(self, message); },
          [self](const Zero& message) { take(self, message); },
          [self](const Prepare& message) { take(self, message); },
          [self](const Reduce& message) { take(self, message); },
          [self](const Part& message) { take(self, message); },
          [self](const PartsSent& message) { take(self, message); },
          [self](const MissingParts& message) { take(self, message); },
          [self](const Progress& message) { take(self, message); },
          [self](const Missing& message) { take(self, message); },
          [self](const StateImage& message) { take(self, message); },
          [self](const StateUnavailable& message) { take(self, message); },
          [self](const FetchState& message) { take(self, message); },
          [self](const StepSum& message) { take(self, message); },
          [self](const StateProgress& message) { take(self, message); },
          [self](const SaveState& message) { take(self, message); },
          [self](const FetchShard& message) { take(self, message); },
      }),
      [self](const JournalSoFar& past) { take(self, past.view); },
      [self](const JournalEntry& message) { take(self, message); },
      [self](const TransferTimed& message) { take(self, TensorTimed{message.milliseconds}); },
      [self](const RunNextJob&) { run_next(self); },
      [self](const JobEnded& ended) { job_ended(self, ended); },
      [self](const CollectiveTold& told) { take(self, *told.event); },
      [self](const Ping&) { return self->state.marks.work; },
      [self](const Tick&) { tick(self); },
  };
}

}  // namespace shoal
