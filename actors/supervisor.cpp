// Shell of the supervisor: messages to its core; supervisor_effects.h performs what the core answers.
#include "actors/supervisor.h"

#include <algorithm>
#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "actors/supervisor_effects.h"
#include "runtime/base/bound.h"
#include "runtime/base/log.h"
#include "runtime/trace/trace_words.h"
#include "runtime/transport/error_words.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/revocation/revoked_certificates.h"

namespace shoal {
namespace {

using Self = SupervisorSelf;
using namespace std::chrono_literals;

constexpr auto kTickPeriod = 100ms;
constexpr Duration kChildPatience = 1s;
constexpr Duration kDeafAfter = 500ms;  // of the router's silence
constexpr const char* kRouterName = "router/spawner";
constexpr std::uint64_t kEntriesTracedAgain = 64;  // at a start: a killed spawner did not write its last events

[[nodiscard]] std::string no_answer_for(Duration silence) {
  return compose("no answer for ", std::chrono::duration_cast<std::chrono::milliseconds>(silence).count(), " ms");
}

template <class Message>
void take(Self self, const Message& message) {
  self->state.fault_span = 0;
  perform(self, self->state.core->hear(message, now(self)));
}

// Names as the cause of what follows the loss that was being performed when the look began.
void looked(Self self, const LookEnded& ended) {
  self->state.fault_span = ended.fault_span;
  perform(self, self->state.core->looked(*ended.end, now(self)));
}

// How a child's place becomes empty: it ended, or it is given up.
void lose_child(Self self, const SupervisedChild& child, const std::string& reason) {
  auto& core = *self->state.core;
  self->state.fault_span = 0;
  self->state.trace.record(TraceKind::kFault, trace_cause(self), 0, name_of(child) + ": " + reason);
  perform(self, child.group ? core.group_ended(child.group->stage, child.group->group, reason, now(self))
                            : core.data_loader_ended(reason, now(self)));
}

void child_ended(Self self, const caf::down_msg& down) {
  const auto child = self->state.children.find(down.source);
  if (child == self->state.children.end()) return;
  const SupervisedChild ended = std::move(child->second);
  self->state.children.erase(child);
  self->state.watch->ended(name_of(ended));
  lose_child(self, ended, words_of(down.reason));
}

// Their successors take their places in `children`.
void replace_silent_children(Self self) {
  for (const SilentChild& silent : self->state.watch->take_silent(now(self))) {
    const auto is_it = [&](const auto& entry) { return name_of(entry.second) == silent.name; };
    const auto child = std::ranges::find_if(self->state.children, is_it);
    if (child == self->state.children.end()) continue;
    lose_child(self, SupervisedChild(child->second), no_answer_for(silent.silence));
  }
}

void ask_router(Self self) {
  ask(self, self->state.settings.router, [self] { self->state.mail_watch->answered(kRouterName, now(self)); });
}

// Whatever is sent to this process is not heard here: so nobody's silence is his own, and there is no child whose
// letters would arrive.
[[nodiscard]] bool is_deaf(Self self) {
  auto& state = self->state;
  const Duration silence = state.mail_watch->silence_of(kRouterName, now(self));
  if (silence < kDeafAfter) return false;
  if (state.mail_watch->take_silent(now(self)).empty()) return true;
  const std::string why = compose(kRouterName, ": ", no_answer_for(silence));
  state.trace.record(TraceKind::kFault, trace_cause(self), 0, why);
  const RunEvent event{RunEventKind::kEscalated, kRouterName,
                       no_answer_for(silence) + "; the spawner's process starts again",
                       state.core->view().committed_steps()};
  if (state.settings.leave_unwritten) state.settings.leave_unwritten(event);
  perform(self, SupervisorEffects{EndRun{1, why + "; this process starts again", true}});
  return true;
}

// The endpoint's threads change the list: whoever is refused is refused there at once, and everywhere a tick later.
void tell_revoked(Self self) {
  auto& state = self->state;
  const auto& revoked = state.settings.revoked;
  const bool is_new = revoked && revoked->version() != state.core->revoked_version();
  if (is_new) perform(self, state.core->hear(revoked->list(), now(self)));
}

void tick(Self self) {
  self->delayed_send(self, kTickPeriod, Tick{});
  self->state.fault_span = 0;
  self->state.pulse->waiting(self->mailbox().size());
  if (self->state.watch->is_time_to_ask(now(self))) {
    ask_router(self);
    for (const auto& [address, child] : self->state.children) ask_child(self, address);
  }
  if (const auto& board = self->state.settings.work) {
    for (const MeasuredWork& work : board->take()) take(self, work);
  }
  if (is_deaf(self)) return;
  replace_silent_children(self);
  tell_revoked(self);
  perform(self, self->state.core->tick(now(self)));
}

[[nodiscard]] OperatorAnswer obey(Self self, const OperatorOrder& order) {
  OperatorOutcome outcome = self->state.core->operate(order, now(self));
  log_info("supervisor", "an order of ", order.reason, " for ", order.name, ": ", outcome.answer.text);
  if (outcome.injection != 0) {
    const std::string what = compose("#", outcome.injection, " ", order.name);
    self->state.trace.record(TraceKind::kFault, trace_cause(self), 0, what);
  }
  perform(self, std::move(outcome.effects));
  return outcome.answer;
}

[[nodiscard]] SaveAnswer save(Self self, const SaveRequest& request) {
  SaveOutcome outcome = self->state.core->save(request, now(self));
  if (!request.goal) log_info("supervisor", "a checkpoint is asked for by ", request.reason, ": ", outcome.answer.text);
  perform(self, std::move(outcome.effects));
  return outcome.answer;
}

[[nodiscard]] StatusReport report(Self self) {
  const SupervisorCore& core = *self->state.core;
  StatusReport report;
  report.summary = core.explain_waiting(now(self)) + core.explain_last_end(now(self));
  report.run = run_text(self->state.settings.core.run);
  report.step = core.view().committed_steps();
  report.steps_target = core.steps_target();
  report.branch = core.view().branch().value;
  report.view = core.view().position().value;
  const auto& board = self->state.settings.board;
  for (ActorLine& line : core.actors(board ? board->list(now(self)) : std::vector<ActorHealth>())) {
    report.actors.push_back({std::move(line.node), std::move(line.health)});
  }
  for (MachineLine& line : core.machines()) {
    report.machines.push_back({std::move(line.name), std::move(line.device), line.offer, line.use});
  }
  return report;
}

[[nodiscard]] Status replay(SupervisorState& state) {
  JournalStore& journal = *state.settings.journal;
  state.core->replay_kernels(journal.kernels());
  JournalPosition after = journal.begins_after();
  const JournalPosition last = journal.last_position();
  if (after > JournalPosition{}) {
    const auto past = journal.snapshot();
    if (!past) return past.failure();
    state.core->replay(*past);
  }
  while (after < last) {
    const auto entries = journal.load(after, kEntriesPerLetter);
    if (!entries) return entries.failure();
    for (const JournalEntry& entry : *entries) {
      state.core->replay(entry);
      const bool may_be_untraced = entry.position.value + kEntriesTracedAgain > last.value;
      if (may_be_untraced) trace_whole_entry(state.trace, entry);
    }
    after.value += entries->size();
  }
  return Done{};
}

void adopt(Self self, SupervisorSettings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  state.core.emplace(state.settings.core);
  const Duration dead_after = state.settings.core.detector.dead_after;
  state.watch.emplace(kChildPatience, dead_after);
  state.mail_watch.emplace(std::max<Duration>(kChildPatience, dead_after / 3), dead_after);
  state.trace = ActorTrace(state.settings.tracer, "supervisor");
  self->set_exit_handler([self](const caf::exit_msg& exit) { self->quit(exit.reason); });
  self->set_down_handler([self](const caf::down_msg& down) { child_ended(self, down); });
  state.pulse = enter(state.settings.board, "supervisor");
  self->send(state.settings.router, Attach{Role::kSupervisor, {}, {}, caf::actor_cast<caf::actor>(self), state.pulse});
  if (const Status read = replay(state); !read) {
    log_error("supervisor", read.failure().message);
    return state.settings.end_process({exit_code(read.failure().error), read.failure().message});
  }
  state.mail_watch->started(kRouterName, now(self));
  ask_router(self);
  self->delayed_send(self, kTickPeriod, Tick{});
  tell_revoked(self);
  perform(self, state.core->begin(now(self)));
}

}  // namespace

SupervisorState::~SupervisorState() {
  for (const auto& [address, child] : children) {
    if (const auto actor = caf::actor_cast<caf::actor>(address)) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
  }
}

SupervisorActor::behavior_type supervisor(Self self, SupervisorSettings settings) {
  self->set_exception_handler(error_of);
  adopt(self, std::move(settings));
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kSupervisor>(BodyHandlers{
          [self](const Join& message) { take(self, message); },
          [self](const StageReady& message) { take(self, message); },
          [self](const StageEnded& message) { take(self, message); },
          [self](const ProcessLost& message) { take(self, message); },
          [self](const Leaving& message) { take(self, message); },
          [self](const Heartbeat& message) { take(self, message); },
          [self](const PeerUnreachable& message) { take(self, message); },
          [self](const PeerRefused& message) { take(self, message); },
          [self](const Prepared& message) { take(self, message); },
          [self](const FetchJournal& message) { take(self, message); },
          [self](const CheckpointSaved& message) { take(self, message); },
          [self](const CheckpointFailed& message) { take(self, message); },
          [self](const StateProgress& message) { take(self, message); },
          [self](const StateUnavailable& message) { take(self, message); },
          [self](const EvaluationResult& message) { take(self, message); },
          [self](const RunEvent& message) { take(self, message); },
      }),
      [self](const StopRequest& stop) {
        perform(self, self->state.core->stop(stop.reason, stop.exit_status, now(self)));
      },
      [self](const LookEnded& ended) { looked(self, ended); },
      [self](const Tick&) { tick(self); },
      [self](const OperatorOrder& order) { return obey(self, order); },
      [self](const SaveRequest& request) { return save(self, request); },
      [self](const StatusQuery&) { return report(self); },
  };
}

}  // namespace shoal
