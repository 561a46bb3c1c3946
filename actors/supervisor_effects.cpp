// Entries to the journal, letters to the router, children that are started.
#include "actors/supervisor_effects.h"

#include <algorithm>
#include <utility>

#include "runtime/base/bound.h"
#include "runtime/base/log.h"
#include "runtime/trace/trace_words.h"

namespace shoal {
namespace {

using Self = SupervisorSelf;
using namespace std::chrono_literals;

constexpr auto kProbeTimeout = 3s;
constexpr auto kAnswerFirst = 250ms;  // for the answer to an order that ends who would bring it
const Bound kEntriesWithDetails{"journal.entries_with_details", 4};  // the newest travel whole (view.h)
const Bound kNumbersReserved{"supervision.numbers_reserved", 1024};

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
  bool operator()(const KeepKernels& effect) const {
    const Status kept = self->state.settings.journal->keep_kernels(effect.kernels);
    return kept ? true : halt(kept.failure());
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
    const TellLook tell = teller_of(effect.look);
    find ? find(effect, tell) : tell(StartPoint{});
    return true;
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
  [[nodiscard]] TellLook teller_of(std::uint64_t look) const {
    return [weak = self->address(), look, span = self->state.fault_span](Result<StartPoint> start) {
      const auto supervisor = caf::actor_cast<caf::actor>(weak);
      const auto end = std::make_shared<const LookEnd>(LookEnd{look, std::move(start)});
      if (supervisor) caf::anon_send(supervisor, LookEnded{end, span});
    };
  }
  // Names the span of a loss in what follows from it.
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

}  // namespace

Cause trace_cause(SupervisorSelf self) {
  const auto& state = self->state;
  Cause cause;
  cause.run = state.settings.core.run;
  cause.term = state.settings.core.term;
  cause.branch = state.core->view().branch();
  cause.position = state.core->view().position();
  cause.step = StepId{state.core->view().committed_steps()};
  return cause;
}

std::string name_of(const SupervisedChild& child) {
  return child.group ? compose("sync_group/", child.group->stage) : "data_loader";
}

void ask_child(SupervisorSelf self, const caf::actor_addr& child) {
  const auto actor = caf::actor_cast<caf::actor>(child);
  if (!actor) return;
  const auto answered = [self, child] {
    const auto found = self->state.children.find(child);
    if (found != self->state.children.end()) self->state.watch->answered(name_of(found->second), now(self));
  };
  ask(self, actor, answered);
}

bool perform(SupervisorSelf self, SupervisorEffects effects) {
  for (SupervisorEffect& effect : effects) {
    if (!std::visit(Performer{self}, effect)) return false;
  }
  return true;
}

}  // namespace shoal
