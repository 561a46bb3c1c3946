// Shell of the supervisor: messages to the core, effects to journal, router and children.
#include "actors/supervisor.h"

#include <algorithm>
#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/bound.h"
#include "runtime/base/log.h"
#include "runtime/trace/trace_words.h"
#include "runtime/transport/error_words.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/revocation/revoked_certificates.h"

namespace shoal {
namespace {

using Self = SupervisorActor::stateful_pointer<SupervisorState>;
using namespace std::chrono_literals;

constexpr auto kTickPeriod = 100ms;
constexpr auto kProbeTimeout = 3s;
constexpr Duration kChildPatience = 1s;
constexpr Duration kDeafAfter = 500ms;  // of the router's silence
constexpr const char* kRouterName = "router/spawner";
// Some 300 bytes each; JournalStore bounds their bytes.
const Bound kEntriesPerLetter{"journal.entries_per_letter", 2048};
const Bound kEntriesWithDetails{"journal.entries_with_details", 4};  // the newest travel whole (view.h)
const Bound kNumbersReserved{"supervision.numbers_reserved", 1024};
constexpr auto kAnswerFirst = 250ms;               // for the answer to an order that ends who would bring it
constexpr std::uint64_t kEntriesTracedAgain = 64;  // at a start: a killed spawner did not write its last events

[[nodiscard]] Instant now(Self self) { return self->clock().now(); }

[[nodiscard]] Cause trace_cause(Self self) {
  const auto& state = self->state;
  Cause cause;
  cause.run = state.settings.core.run;
  cause.term = state.settings.core.term;
  cause.branch = state.core->view().branch();
  cause.position = state.core->view().position();
  cause.step = StepId{state.core->view().committed_steps()};
  return cause;
}

// False: the journal refused an entry, and the rest of the effects must not happen.
bool perform(Self self, SupervisorEffects effects);

[[nodiscard]] std::string name_of(const SupervisedChild& child) {
  return child.group ? compose("sync_group/", child.group->stage) : "data_loader";
}

// Is it there? Its end is heard of otherwise.
template <class Handle, class Answered>
void ask(Self self, const Handle& whom, Answered answered) {
  self->request(whom, caf::infinite, Ping{}).then(std::move(answered), [](const caf::error&) {});
}

[[nodiscard]] std::string no_answer_for(Duration silence) {
  return compose("no answer for ", std::chrono::duration_cast<std::chrono::milliseconds>(silence).count(), " ms");
}

void ask_child(Self self, const caf::actor_addr& child) {
  const auto actor = caf::actor_cast<caf::actor>(child);
  if (!actor) return;
  const auto answered = [self, child] {
    const auto found = self->state.children.find(child);
    if (found != self->state.children.end()) self->state.watch->answered(name_of(found->second), now(self));
  };
  ask(self, actor, answered);
}

void probe(Self self, const ProbeProcess& order) {
  auto& state = self->state;
  if (!state.settings.make_prober) return;
  const auto heard = [self, process = order.process](bool is_refused) {
    const std::string why = "its link broke and nobody listens where it was";
    if (is_refused) perform(self, self->state.core->gone(process, why, now(self)));
  };
  self->request(state.settings.make_prober(), kProbeTimeout, order.endpoint.host, order.endpoint.port)
      .then(heard, [](const caf::error&) {});  // not known: its silence will tell
}

struct Performer {
  Self self;

  bool operator()(Letter& letter) const {
    if (const auto* told = std::get_if<RunEvent>(&letter.body)) trace_told(*told);
    self->send(self->state.settings.router, std::move(letter));
    return true;
  }
  bool operator()(const AppendEntry& effect) const {
    auto& state = self->state;
    const JournalEntry entry = state.core->entry_for(effect.body);
    const Status kept = state.settings.journal->append(entry);
    if (!kept) return halt(kept.failure());
    trace_whole_entry(state.trace, entry, state.fault_span);
    return perform(self, state.core->appended(entry, now(self)));
  }
  bool operator()(const SendJournal& effect) const {
    const JournalPosition newest = self->state.core->view().position();
    for (JournalPosition after = effect.after;;) {
      auto news = journal_after(after);
      if (!news) return halt(news.failure());
      if (!news->past && news->entries.empty()) return true;
      if (!news->entries.empty()) after = news->entries.back().position;
      const bool is_last = !effect.is_whole || news->entries.empty() || after >= newest;
      const Address router{effect.process, Role::kRouter, {}, {}};
      self->send(self->state.settings.router, Letter{kSpawnerProcess, router, std::move(*news)});
      if (is_last) return true;
    }
  }
  bool operator()(const KeepSnapshot& effect) const {
    const Status kept = self->state.settings.journal->cut(effect.snapshot);
    if (!kept) log_warn("supervisor", kept.failure().message, "; the journal keeps all entries until the next one");
    return true;
  }
  bool operator()(const ReserveNumbers& effect) const {
    const auto kind = effect.are_processes ? IncarnationKind::kProcess : IncarnationKind::kActor;
    const std::uint64_t count = std::max<std::uint64_t>(kNumbersReserved, effect.count_min);
    const auto block = self->state.settings.journal->reserve(kind, count);
    kNumbersReserved.reached_if(block.ok());
    if (!block) return halt(block.failure());
    self->state.core->reserved(effect.are_processes, block->first, block->count);
    return true;
  }
  bool operator()(const StartGroup& effect) const {
    trace_start(name_of({effect}));
    return adopt_child(self->state.settings.start_group(effect), {effect});
  }
  bool operator()(const StartDataLoader& effect) const {
    trace_start(name_of({}));
    return adopt_child(self->state.settings.start_data_loader(effect), {});
  }
  bool operator()(const FindCheckpoint& effect) const {
    const auto& find = self->state.settings.find_checkpoint;
    const auto start = find ? find(effect) : Result<StartPoint>(StartPoint{});
    auto& core = *self->state.core;
    return perform(self, start ? core.found(*start, now(self)) : core.not_found(start.failure(), now(self)));
  }
  bool operator()(const ProbeProcess& effect) const {
    probe(self, effect);
    return true;
  }
  bool operator()(const EndRun& effect) const {
    const char* const what = effect.is_handed_over ? "this process ends with status " : "the run ends with status ";
    log_info("supervisor", what, effect.exit_status, ": ", effect.reason);
    self->state.settings.end_process(effect);
    return true;
  }
  bool operator()(const Note& effect) const {
    log_info("supervisor", effect.text);
    return true;
  }
  bool operator()(const TellPerson& effect) const {
    log_info("supervisor", effect.text);
    if (self->state.settings.tell) self->state.settings.tell(effect.text);
    return true;
  }
  bool operator()(const AvoidReplicas& effect) const {
    for (const auto& [address, child] : self->state.children) {
      const auto actor = caf::actor_cast<caf::actor>(address);
      if (actor && !child.group) self->send(caf::actor_cast<DataLoaderActor>(actor), effect);
    }
    return true;
  }
  bool operator()(const InjectHere& effect) const {
    const Inject& order = effect.order;
    self->delayed_send(self->state.settings.router, kAnswerFirst, Letter{kSpawnerProcess, order.target, order});
    return true;
  }

 private:
  // What follows from a loss names its span.
  void trace_told(const RunEvent& told) const {
    auto& state = self->state;
    const bool is_loss = told.kind == RunEventKind::kProcessLost || told.kind == RunEventKind::kStageLost ||
                         told.kind == RunEventKind::kStageEnded;
    if (is_loss) state.fault_span = state.trace.new_span(TraceKind::kFault);
    trace_event(state.trace, trace_cause(self), told, is_loss ? state.fault_span : 0);
  }
  void trace_start(const std::string& child) const {
    auto& state = self->state;
    const bool is_first = state.started.insert(child).second;
    state.trace.record(is_first ? TraceKind::kSpawn : TraceKind::kRestart, trace_cause(self), 0, child);
  }
  // Returns what fits into one letter, with the snapshot where entries after that position are gone.
  [[nodiscard]] Result<JournalEntries> journal_after(JournalPosition after) const {
    auto& journal = *self->state.settings.journal;
    const SupervisorConfig& config = self->state.settings.core;
    JournalEntries news{config.run, config.term, {}};
    if (after < journal.begins_after()) {
      auto snapshot = journal.snapshot();
      if (!snapshot) return snapshot.failure();
      after = journal.begins_after();
      news.past = std::move(snapshot->view);
    }
    auto entries = journal.load(after, kEntriesPerLetter);
    if (!entries) return entries.failure();
    kEntriesPerLetter.reached_if(entries->size() >= kEntriesPerLetter);
    news.entries = without_old_details(std::move(*entries));
    return news;
  }
  // After a roll-back the actors of the old branch are still there, and so is one that did not answer.
  void retire(const SupervisedChild& successor) const {
    const auto stage_of = [](const SupervisedChild& one) {
      return one.group ? std::optional(one.group->stage) : std::nullopt;
    };
    auto& children = self->state.children;
    for (auto child = children.begin(); child != children.end();) {
      if (stage_of(child->second) != stage_of(successor)) {
        ++child;
        continue;
      }
      const auto old = caf::actor_cast<caf::actor>(child->first);
      child = children.erase(child);
      if (old) self->send_exit(old, caf::exit_reason::user_shutdown);
    }
  }
  bool adopt_child(const caf::actor& child, SupervisedChild record) const {
    self->state.watch->started(name_of(record), now(self));
    retire(record);
    self->state.children[child.address()] = std::move(record);
    self->monitor(child);
    ask_child(self, child.address());
    return true;
  }
  [[nodiscard]] std::vector<JournalEntry> without_old_details(std::vector<JournalEntry> entries) const {
    for (JournalEntry& entry : entries) {
      const bool is_new = entry.position.value + kEntriesWithDetails > self->state.core->view().position().value;
      if (!kEntriesWithDetails.reached_if(!is_new)) continue;
      entry = without_details(std::move(entry));
    }
    return entries;
  }
  bool halt(const Failure& failure) const {
    log_error("supervisor", failure.message);
    auto& core = *self->state.core;
    perform(self, core.journal_failed(failure.message, exit_code(failure.error), now(self)));
    return false;
  }
};

bool perform(Self self, SupervisorEffects effects) {
  for (SupervisorEffect& effect : effects) {
    if (!std::visit(Performer{self}, effect)) return false;
  }
  return true;
}

template <class Message>
void take(Self self, const Message& message) {
  self->state.fault_span = 0;
  perform(self, self->state.core->hear(message, now(self)));
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
  if (state.settings.leave_untold) state.settings.leave_untold(event);
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
      [self](const Tick&) { tick(self); },
      [self](const OperatorOrder& order) { return obey(self, order); },
      [self](const SaveRequest& request) { return save(self, request); },
      [self](const StatusQuery&) { return report(self); },
  };
}

}  // namespace shoal
