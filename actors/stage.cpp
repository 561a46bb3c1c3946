// Shell of a replica: messages to the core, effects to the router and the executor.
#include "actors/stage.h"

#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/storage/inner_parts.h"
#include "runtime/trace/state_layout.h"
#include "runtime/trace/trace_words.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = StageActor::stateful_pointer<StageState>;
using namespace std::chrono_literals;

constexpr auto kTickPeriod = 500ms;

[[nodiscard]] Instant now(Self self) { return self->clock().now(); }

// In the order of Job's alternatives: what a span is called.
constexpr std::array<std::string_view, std::variant_size_v<Job::Variant>> kJobWords = {
    "forward",
    "loss",
    "backward",
    "accumulate",
    "evaluate",
    "zero",
    "contribute",
    "adopt",
    "apply",
    "image",
    "piece",
    "load",
    "load_piece",
    "follow",
    "contribute_round",
    "apply_round",
    "restart_from_outer",
};

[[nodiscard]] MicrobatchId microbatch_of(const Job& job) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.work.microbatch; }) return one.work.microbatch;
        if constexpr (requires { one.microbatch; }) return one.microbatch;
        return MicrobatchId{};
      },
      job);
}

// Only these depend on the samples of one microbatch.
[[nodiscard]] bool is_of_a_microbatch(const Job& job) {
  return std::holds_alternative<ForwardJob>(job) || std::holds_alternative<LossJob>(job) ||
         std::holds_alternative<BackwardJob>(job) || std::holds_alternative<AccumulateJob>(job);
}

// Of the step that this replica works on now.
[[nodiscard]] Cause trace_cause(Self self, MicrobatchId microbatch) {
  Cause cause = self->state.in_trace.cause;
  cause.position = self->state.core->position();
  cause.step = StepId{self->state.core->version()};
  cause.microbatch = microbatch;
  return cause;
}

[[nodiscard]] TraceEvent digest_event(Self self, StepId step, std::uint64_t digest, std::string_view of_what) {
  TraceEvent event;
  event.kind = TraceKind::kDigest;
  event.cause = trace_cause(self, {});
  event.cause.step = step;
  event.bytes = digest;
  event.set_detail(of_what);
  return event;
}

[[nodiscard]] TraceEvent state_event(Self self, StepId step, std::uint64_t digest, std::string_view of_what) {
  TraceEvent event = digest_event(self, step, digest, of_what);
  event.subject = self->state.in_trace.state_layout;
  return event;
}

// What a job gave, as the checks of a trace need it: S-1 counts accumulations, S-3 compares digests.
struct ResultWriter {
  Self self;
  Cause cause;  // of the job

  void operator()(const Differentiated& pass) const {
    if (pass.accumulated) accumulated(*pass.accumulated);
  }
  void operator()(const Accumulated& pass) const { accumulated(pass.result); }
  // The core counts every one that an open replica computed (P-8).
  void accumulated(const AccumulateResult& result) const {
    self->state.marks.on_device->trained(result.token_count);
    self->state.trace.record(TraceKind::kAccumulate, cause, result.token_count);
  }
  void operator()(const Adopted& adopted) const {
    if (self->state.core->keeps_sums_apart()) return;  // nobody else has this sum
    const Epoch epoch = self->state.core->epoch();
    TraceEvent event = digest_event(self, cause.step, adopted.sum.digest, "sum");
    event.subject = epoch.group.value;
    event.cause.attempt = epoch.counter;
    self->state.trace.record(event);
  }
  // With rounds, what all hold alike changes at a round's boundary, after the step's own apply.
  void operator()(const Applied& applied) const {
    if (self->state.core->keeps_sums_apart()) return;
    self->state.trace.record(state_event(self, cause.step, applied.state_digest, "state"));
  }
  void operator()(const RoundApplied& applied) const {
    self->state.trace.record(state_event(self, cause.step, applied.state_digest, "state"));
  }
  void operator()(const Loaded& loaded) const {
    self->state.trace.record(state_event(self, cause.step, loaded.state_digest, "loaded"));
  }
  template <class Other>
  void operator()(const Other&) const {}
};

// Letters that a job brought about say so.
void set_parent(MessageBody& body, std::uint64_t span) {
  if (auto* forward = std::get_if<Forward>(&body)) forward->cause.parent_span = span;
  if (auto* backward = std::get_if<Backward>(&body)) backward->cause.parent_span = span;
}

// The device has come to the oldest job. Who does not come back from it leaves its note.
void come_to_next(Self self) {
  auto& state = self->state;
  HandedIn& job = state.handed_in.front();
  job.span = state.trace.start(job.cause, job.word);
  if (!job.is_of_a_microbatch) return;
  state.note->begin({job.cause.run, StageId{job.cause.hop}, state.replica, job.cause.step, job.cause.microbatch});
}

// Rethrows what the executor threw, which ends the actor. A lack of memory is no evidence against the microbatch.
[[nodiscard]] JobResult result_of(Self self, const JobEnd& end, const HandedIn& job) {
  const auto* problem = std::get_if<std::exception_ptr>(&end.outcome);
  try {
    if (problem != nullptr) std::rethrow_exception(*problem);
  } catch (const std::exception& thrown) {
    if (job.is_of_a_microbatch && is_lack_of_memory(thrown)) self->state.note->end(self->state.replica);
    throw;
  }
  if (job.is_of_a_microbatch) self->state.note->end(self->state.replica);
  return std::get<JobResult>(end.outcome);
}

// Adds to a report what its process knows of the device.
void add_use(Self self, MessageBody& body) {
  if (auto* report = std::get_if<ReplicaReport>(&body)) report->use = self->state.marks.on_device->take(now(self));
}

void take_end(Self self, const JobEnd& end);
void perform(Self self, Effects effects);

struct Performer {
  Self self;
  std::uint64_t parent = 0;  // the span of the job that brought the effects about

  void operator()(SendLetter& effect) const {
    if (parent != 0) set_parent(effect.letter.body, parent);
    add_use(self, effect.letter.body);
    self->send(self->state.router, std::move(effect.letter));
  }
  void operator()(RunJob& effect) const {
    auto& state = self->state;
    const Cause cause = trace_cause(self, microbatch_of(effect.job));
    state.handed_in.push_back({cause, kJobWords[effect.job.index()], is_of_a_microbatch(effect.job)});
    state.marks.on_device->note(true, now(self));
    if (state.handed_in.size() == 1) come_to_next(self);
    if (auto end = state.runners.jobs->begin(effect.job)) take_end(self, *end);
  }
  void operator()(Collect& effect) const {
    if (self->state.runners.collective) self->state.runners.collective->hand_in(std::move(effect.order));
  }
  void operator()(End& effect) const {
    log_warn(self->state.title, "replica ends itself: ", effect.reason);
    self->state.trace.record(TraceKind::kFault, trace_cause(self, {}), 0, effect.reason);
    self->quit(caf::make_error(caf::sec::runtime_error, effect.reason));
  }
};

void perform(Self self, Effects effects) {
  for (Effect& effect : effects) std::visit(Performer{self}, effect);
}

void take_end(Self self, const JobEnd& end) {
  auto& state = self->state;
  const HandedIn job = state.handed_in.front();
  JobResult result = result_of(self, end, job);
  state.handed_in.pop_front();
  state.marks.on_device->note(!state.handed_in.empty(), now(self));
  state.trace.end(job.span, job.cause);
  if (!state.handed_in.empty()) come_to_next(self);
  std::visit(ResultWriter{self, job.cause}, result);
  auto effects = state.core->completed(std::move(result), now(self));
  for (Effect& next : effects) std::visit(Performer{self, job.span}, next);
}

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
