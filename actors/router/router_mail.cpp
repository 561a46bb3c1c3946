// Letters of the mail room: routes, what the router reads for its cores, delivery to local actors.
#include "actors/router/router_mail.h"

#include <utility>

#include "actors/router/router_wire.h"
#include "messages/catalogue/facts.h"
#include "runtime/base/log.h"
#include "runtime/trace/trace_words.h"

namespace shoal {
namespace {

[[nodiscard]] LocalKey key_of(Role role, StageId stage, Incarnation incarnation) {
  if (role == Role::kStage) return {role, incarnation.value};
  if (role == Role::kSyncGroup) return {role, stage.value};
  return {role, 0};
}

[[nodiscard]] bool follows_journal(Role role) {
  return role == Role::kStage || role == Role::kSyncGroup || role == Role::kDataLoader || role == Role::kMetrics;
}

// Who asked: the data loader is nobody in the view.
[[nodiscard]] Incarnation requester_of(const Address& to) {
  return to.role == Role::kDataLoader ? Incarnation{} : to.incarnation;
}

[[nodiscard]] bool is_here(RouterSelf self, ProcessIncarnation process) {
  return self->state.links->self().process == process;
}

// Where a replica runs: here, by the journal, or by what it said before it was a member. The address's own word last.
[[nodiscard]] std::optional<ProcessIncarnation> process_of(RouterSelf self, const Address& to) {
  const auto& state = self->state;
  if (state.locals.contains(key_of(to.role, to.stage, to.incarnation))) return state.links->self().process;
  if (const auto member = state.requests->view().find(to.incarnation)) return member->process;
  if (const auto hint = state.hints.fetching.find(to.incarnation); hint != state.hints.fetching.end()) {
    return hint->second;
  }
  if (to.process != ProcessIncarnation{}) return to.process;
  return std::nullopt;
}

// Its sender may be in no view that this process has read.
template <class Question>
void refuse(RouterSelf self, const Letter& letter, const Question& question, RefusalReason reason) {
  const Address back = question.cause.hop == 0 ? to_data_loader() : to_stage(letter.from, question.sender);
  route(self, Letter{{}, back, Refusal{question.cause, letter.to.incarnation, question.purpose, reason}});
}

// Whoever asked a stage hears why it has no answer, and need not wait for one.
void refuse_question(RouterSelf self, const Letter& letter, RefusalReason reason) {
  if (letter.to.role != Role::kStage) return;
  if (const auto* forward = std::get_if<Forward>(&letter.body)) refuse(self, letter, *forward, reason);
  if (const auto* ask = std::get_if<Ask>(&letter.body)) refuse(self, letter, *ask, reason);
}

void undeliverable(RouterSelf self, const Letter& letter) {
  drop(self, letter, Undelivered::Why::kNobody);
  refuse_question(self, letter, RefusalReason::kUnknownReplica);
}

// An end is sent as an exit message; who is to throw or freeze does it in a handler (injected.h).
void inflict(RouterSelf self, const caf::actor& victim, const Inject& order) {
  Cause cause;
  cause.run = self->state.links->self().run;
  cause.term = self->state.links->self().term;
  self->state.trace.record(TraceKind::kFault, cause, 0, compose("injection #", order.id));
  const bool ends_it = order.how == InjectKind::kExit || order.how == InjectKind::kKill;
  if (order.whole_process || !ends_it) return caf::anon_send<caf::message_priority::high>(victim, order);
  const bool is_kill = order.how == InjectKind::kKill;
  caf::anon_send_exit(victim, is_kill ? caf::exit_reason::kill : caf::exit_reason::user_shutdown);
}

void tell_missed(RouterSelf self, const Inject& order) {
  const std::string where = compose(" in process ", order.target.process);
  const std::string why = compose("#", order.id, ": the actor it was for is down", where, ", and did not come back");
  route(self, Letter{{}, to_metrics(), RunEvent{"injection_missed", "chaos", why, 0}});
}

// Who is down at the moment suffers it when it is up again.
void inflict_on_local(RouterSelf self, const Inject& order) {
  const Address& who = order.target;
  const auto found = self->state.locals.find(key_of(who.role, who.stage, who.incarnation));
  const bool is_up = found != self->state.locals.end() && found->second.actor;
  if (is_up) return inflict(self, found->second.actor, order);
  if (!self->state.held.orders.keep(order, now_of(self))) tell_missed(self, order);
}

// What actors that lose no letter count; anything else that somebody sends them they do not hear.
[[nodiscard]] bool is_taken(Role role, const MessageBody& body) {
  const auto is_one_of = [&body]<class... Messages>() { return (std::holds_alternative<Messages>(body) || ...); };
  if (role == Role::kMetrics) return is_one_of.operator()<ReplicaReport, EvaluationResult, RunEvent>();
  return is_one_of.operator()<SaveShard, FetchState>();
}

void give(const caf::actor& actor, MessageBody body) {
  const auto wrap = [](auto& message) { return caf::make_message(std::move(message)); };
  caf::anon_send(actor, std::visit(wrap, body));
}

void hand_over(RouterSelf self, Letter letter, Duration transfer) {
  if (const auto* inject = std::get_if<Inject>(&letter.body)) return inflict_on_local(self, *inject);
  const auto found = self->state.locals.find(key_of(letter.to.role, letter.to.stage, letter.to.incarnation));
  if (found == self->state.locals.end()) return undeliverable(self, letter);
  Local& local = found->second;
  if (local.pulse) local.pulse->heard(word_of(letter.body), now_of(self));
  if (local.untaken && is_taken(letter.to.role, letter.body)) local.untaken->add(letter.body);
  if (!local.actor) return;
  const bool is_timed = transfer > Duration::zero() && letter.to.role == Role::kStage;
  if (is_timed) caf::anon_send(local.actor, TransferTimed{milliseconds(transfer)});
  give(local.actor, std::move(letter.body));
}

// Entries are missing here that nobody keeps any more: all begin where the next ones follow.
void begin_at(RouterSelf self, const std::shared_ptr<const View>& past) {
  auto& state = self->state;
  state.requests->begin_at(*past);
  for (const auto& [key, local] : state.locals) {
    if (local.actor && follows_journal(key.role)) caf::anon_send(local.actor, JournalSoFar{past});
  }
}

void follow(RouterSelf self, const JournalEntries& entries) {
  auto& state = self->state;
  const JournalNews news = state.journal.accept(entries, now_of(self));
  if (news.past) begin_at(self, news.past);
  for (const JournalEntry& entry : news.entries) {
    auto letters = state.requests->follow(entry, now_of(self));
    for (const auto& [key, local] : state.locals) {
      if (local.actor && follows_journal(key.role)) caf::anon_send(local.actor, entry);
    }
    if (const auto* added = std::get_if<AddReplica>(&entry.body)) state.hints.fetching.erase(added->replica);
    route_all(self, std::move(letters));
  }
  if (state.journal.has_diverged()) {
    const EndProcess order{"the spawner's journal is not the one that was followed here", 1};
    deliver(self, Letter{{}, to_node_agent(state.links->self().process.value_or(ProcessIncarnation{})), order}, {});
  }
  for (HeldLetters::Held& held : state.held.ahead->take_all())
    receive_verified(self, std::move(held.letter), held.transfer);
  fetch_journal(self);
}

// The router's own reading of what passes through it. Each overload says what remains to be done with the letter.
enum class Reading : std::uint8_t { kDeliver, kConsumed };

struct Reader {
  RouterSelf self;
  const Address& to;

  Reading operator()(const Backward& answer) const {
    self->state.requests->answered(requester_of(to), answer, now_of(self));
    return Reading::kDeliver;
  }
  Reading operator()(const Refusal& refusal) const {
    route_all(self, self->state.requests->refused(requester_of(to), refusal, now_of(self)));
    look_soon(self);
    return Reading::kConsumed;
  }
  Reading operator()(const AskAnswer& answer) const {
    route_all(self, self->state.requests->ask_answered(requester_of(to), answer, now_of(self)));
    look_soon(self);
    return Reading::kConsumed;
  }
  // A stage is asked first: its ledger says what of it can be given again; it tells this router the rest (P-17).
  Reading operator()(const Missing& missing) const {
    if (to.role == Role::kStage) return Reading::kDeliver;
    route_all(self, self->state.requests->missing(missing, now_of(self)));
    return to.role == Role::kDataLoader ? Reading::kDeliver : Reading::kConsumed;
  }
  // From a stage of this process to this router: it was zeroed, what was kept in its name is void.
  Reading operator()(const Zero&) const {
    if (to.role != Role::kRouter) return Reading::kDeliver;
    self->state.requests->forget(to.incarnation);
    return Reading::kConsumed;
  }
  Reading operator()(const JournalEntries& entries) const {
    follow(self, entries);
    return Reading::kConsumed;
  }
  Reading operator()(const Inject& order) const {
    if (to.role != Role::kRouter) return Reading::kDeliver;
    inflict(self, caf::actor_cast<caf::actor>(self), order);
    return Reading::kConsumed;
  }
  Reading operator()(const Peers& peers) const {
    perform(self, self->state.links->peers(peers));
    return Reading::kConsumed;
  }
  Reading operator()(const Revocations& list) const {
    if (self->state.config.revoked) self->state.config.revoked(list);
    return Reading::kConsumed;
  }
  Reading operator()(const Welcome& welcome) const {
    self->state.journal.saw(welcome.position);
    perform(self, self->state.links->identify(welcome.process, welcome.run, welcome.term, now_of(self)));
    return Reading::kDeliver;
  }
  // Messages that the catalogue lets a router hear have overloads above.
  template <class Other>
  requires(!includes(kHearers<Other>, Hearer::kRouter)) Reading operator()(const Other&) const {
    return Reading::kDeliver;
  }
};

// Where in the journal the sender stood.
[[nodiscard]] JournalPosition position_of(const MessageBody& body) {
  return std::visit(
      [](const auto& message) {
        if constexpr (requires { message.cause.position; }) return message.cause.position;
        return JournalPosition{};
      },
      body);
}

// A stage and the data loader each have their bound; nobody else requests.
void mark_requests(RouterSelf self) {
  auto& state = self->state;
  const std::size_t bound = state.config.requests.entries_per_requester_max * (state.locals.size() + 1);
  state.record.marks.requests.note(state.trace, state.requests->size(), bound);
}

void fill_report(RouterSelf self, ReplicaReport& report) {
  auto& since = self->state.record.since_report;
  report.bytes = std::exchange(since.sent, {});
  const RequestCounts& counts = self->state.requests->counts();
  const std::uint64_t retries = counts.sent_again + counts.rerouted;
  report.retried = static_cast<std::uint32_t>(retries - std::exchange(since.retries_told, retries));
}

// How far the journal has brought what this process serves.
void fill_join(RouterSelf self, Join& join) {
  const View& view = self->state.requests->view();
  for (ServedReplica& served : join.serves) {
    if (view.contains(served.replica)) served.version = view.committed_steps();
  }
}

}  // namespace

void drop(RouterSelf self, const Letter& letter, Undelivered::Why why) {
  self->state.record.undelivered.add(why);
  trace_letter(self->state.trace, TraceKind::kDrop, letter);
}

void post(RouterSelf self, Letter letter) {
  self->state.record.pulse->heard(word_of(letter.body), now_of(self));
  if (auto* forward = std::get_if<Forward>(&letter.body)) {
    const Incarnation requester = forward->sender;
    route_all(self, self->state.requests->add(requester, std::move(*forward), now_of(self)));
    return mark_requests(self);
  }
  const bool answers_join =
      std::holds_alternative<Welcome>(letter.body) || std::holds_alternative<JoinRefused>(letter.body);
  if (answers_join) return answer_join(self, std::move(letter));
  if (auto* report = std::get_if<ReplicaReport>(&letter.body)) fill_report(self, *report);
  if (auto* chunk = std::get_if<FileChunk>(&letter.body)) {
    chunk->process = self->state.links->self().process.value_or(ProcessIncarnation{});
  }
  if (auto* join = std::get_if<Join>(&letter.body)) fill_join(self, *join);
  route(self, std::move(letter));
}

void route_all(RouterSelf self, std::vector<Letter> letters) {
  for (Letter& letter : letters) route(self, std::move(letter));
}

void route(RouterSelf self, Letter letter) {
  const auto& links = *self->state.links;
  std::optional<ProcessIncarnation> process = letter.to.process;
  if (letter.to.role == Role::kStage) process = process_of(self, letter.to);
  if (letter.to.role == Role::kStorage) process = links.storage();
  if (!process) return drop(self, letter, Undelivered::Why::kNobody);
  letter.to.process = *process;
  letter.from = links.self().process.value_or(ProcessIncarnation{});
  if (is_here(self, *process)) return deliver(self, std::move(letter), {});
  send_to_process(self, std::move(letter));
}

void receive_verified(RouterSelf self, Letter letter, Duration transfer) {
  auto& state = self->state;
  const JournalPosition position = position_of(letter.body);
  if (!state.journal.is_behind(position)) return deliver(self, std::move(letter), transfer);
  state.journal.saw(position);
  if (!kHeldBytesMax.reached_if(!state.held.ahead->add(letter, transfer))) {
    state.record.marks.held.note(state.trace, state.held.ahead->bytes(), state.config.held_bytes_max);
  } else {
    drop(self, letter, Undelivered::Why::kTooFarAhead);
    refuse_question(self, letter, RefusalReason::kStepNotReached);
  }
  fetch_journal(self);
}

void deliver(RouterSelf self, Letter letter, Duration transfer) {
  const Reading reading = std::visit(Reader{self, letter.to}, letter.body);
  if (reading == Reading::kDeliver) hand_over(self, std::move(letter), transfer);
}

void attach(RouterSelf self, const Attach& attached) {
  Local& local = self->state.locals[key_of(attached.role, attached.stage, attached.incarnation)];
  if (attached.taken && !local.untaken) local.untaken.emplace(attached.taken);
  if (!attached.actor) return;
  self->monitor(attached.actor);
  local.actor = attached.actor;
  local.pulse = attached.pulse;
  if (follows_journal(attached.role)) {
    const JournalFollower& journal = self->state.journal;
    const bool is_late = journal.past().position() > JournalPosition{};
    if (is_late) caf::anon_send(local.actor, JournalSoFar{std::make_shared<const View>(journal.past())});
    for (const JournalEntry& entry : journal.entries()) caf::anon_send(local.actor, entry);
  }
  const Address who{{}, attached.role, attached.stage, attached.incarnation};
  for (const Inject& order : self->state.held.orders.take(who)) inflict(self, local.actor, order);
  if (!attached.taken) return;
  for (const MessageBody& body : local.untaken->begin_life()) give(local.actor, body);
}

void detach(RouterSelf self, const Detach& detached) {
  self->state.locals.erase(key_of(detached.role, detached.stage, detached.incarnation));
  if (detached.role == Role::kStage) self->state.requests->forget(detached.incarnation);
}

bool is_linked(RouterSelf self, Incarnation replica) {
  const auto process = process_of(self, to_stage({}, replica));
  return process && (is_here(self, *process) || self->state.links->link_to(*process));
}

void give_up_orders(RouterSelf self) {
  for (const Inject& order : self->state.held.orders.take_expired(now_of(self))) tell_missed(self, order);
}

void forget_taken(RouterSelf self) {
  for (auto& [key, local] : self->state.locals) {
    if (local.untaken) local.untaken->forget_taken();
  }
}

void local_down(RouterSelf self, const caf::actor_addr& actor) {
  auto& locals = self->state.locals;
  for (auto at = locals.begin(); at != locals.end();) {
    Local& local = at->second;
    const bool is_down = local.actor && local.actor.address() == actor;
    if (is_down) {
      local.actor = nullptr;
      local.pulse = nullptr;
    }
    at = is_down && !local.untaken ? locals.erase(at) : std::next(at);
  }
}

void fetch_journal(RouterSelf self) {
  auto& state = self->state;
  const auto process = state.links->self().process;
  const bool is_reachable = process && (process == kSpawnerProcess || state.links->link_to(kSpawnerProcess));
  if (!is_reachable) return;
  const auto after = state.journal.gap(now_of(self));
  if (after) route(self, Letter{{}, to_supervisor(), FetchJournal{*process, *after}});
}

void look_soon(RouterSelf self) {
  if (const auto pause = self->state.record.next_look.sooner(now_of(self))) self->delayed_send(self, *pause, Tick{});
}

}  // namespace shoal
