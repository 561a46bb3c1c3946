// Spans of jobs, notes of what is computed, and the facts that checks of a trace need.
#include "actors/stage_effects.h"

#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/machine/memory_lack.h"

namespace shoal {
namespace {

using Self = StageSelf;

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

// Records what a job gave, as the checks of a trace need it: S-1 counts accumulations, S-3 compares digests.
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

}  // namespace

Cause trace_cause(StageSelf self, MicrobatchId microbatch) {
  Cause cause = self->state.in_trace.cause;
  cause.position = self->state.core->position();
  cause.step = StepId{self->state.core->version()};
  cause.microbatch = microbatch;
  return cause;
}

void perform(StageSelf self, Effects effects) {
  for (Effect& effect : effects) std::visit(Performer{self}, effect);
}

void take_end(StageSelf self, const JobEnd& end) {
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

}  // namespace shoal
