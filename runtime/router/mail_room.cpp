// Letters of the mail room. What a router hears itself is a row of the catalogue with Hearer::kRouter: Reader has an
// overload for each, or does not compile.
#include "runtime/router/mail_room.h"

#include <utility>

#include "messages/catalogue/facts.h"
#include "runtime/base/compose.h"

namespace shoal {
namespace {

enum class Reading : std::uint8_t { kDeliver, kConsumed };

// The data loader, which asks too, is nobody in the view.
[[nodiscard]] Incarnation requester_of(const Address& to) {
  return to.role == Role::kDataLoader ? Incarnation{} : to.incarnation;
}

// Returns where in the journal the sender stood.
[[nodiscard]] JournalPosition position_of(const MessageBody& body) {
  return std::visit(
      [](const auto& message) {
        if constexpr (requires { message.cause.position; }) return message.cause.position;
        return JournalPosition{};
      },
      body);
}

// A position in a letter is its sender's word. It shows that there may be one entry more than here, and is asked about
// again when that one has come: one that is false never makes the follower look for more than that.
[[nodiscard]] JournalPosition next_of(JournalPosition position) { return JournalPosition{position.value + 1}; }

// The sender may be in no view that this process has read, so the answer goes to the process that it came from.
template <class Question>
[[nodiscard]] Letter refusal_of(const Letter& letter, const Question& question, RefusalReason reason) {
  const Address back = question.cause.hop == 0 ? to_data_loader() : to_stage(letter.from, question.sender);
  return {{}, back, Refusal{question.cause, letter.to.incarnation, question.purpose, reason}};
}

}  // namespace

// The router's own reading of what passes through it. Each overload says what remains to be done with the letter.
struct MailRoom::Reader {
  MailRoom& room;
  const Address& to;
  Instant now;

  Reading operator()(const Backward& answer) const {
    room.requests_.answered(requester_of(to), answer, now);
    return Reading::kDeliver;
  }
  Reading operator()(const Refusal& refusal) const {
    room.route_all(room.requests_.refused(requester_of(to), refusal, now), now);
    room.parts_.look.look_soon(now);
    return Reading::kConsumed;
  }
  Reading operator()(const AskAnswer& answer) const {
    room.route_all(room.requests_.ask_answered(requester_of(to), answer, now), now);
    room.parts_.look.look_soon(now);
    return Reading::kConsumed;
  }
  // A stage is asked first: its ledger says what of it can be given again; it tells this router the rest (P-17).
  Reading operator()(const Missing& missing) const {
    if (to.role == Role::kStage) return Reading::kDeliver;
    room.route_all(room.requests_.missing(missing, now), now);
    return to.role == Role::kDataLoader ? Reading::kDeliver : Reading::kConsumed;
  }
  // From a stage of this process to this router: it was zeroed, what was kept in its name is void.
  Reading operator()(const Zero&) const {
    if (to.role != Role::kRouter) return Reading::kDeliver;
    room.requests_.forget(to.incarnation);
    return Reading::kConsumed;
  }
  Reading operator()(const JournalEntries& entries) const {
    room.follow(entries, now);
    return Reading::kConsumed;
  }
  Reading operator()(const Inject& order) const {
    if (to.role == Role::kRouter) {
      room.locals_.fail_router(order);
    } else if (!room.locals_.fail(order, now)) {
      room.tell_missed(order, now);
    }
    return Reading::kConsumed;
  }
  Reading operator()(const Revocations& list) const {
    if (room.settings_.revoked) room.settings_.revoked(list);
    return Reading::kConsumed;
  }
  // RouterCore has read these two before they came here.
  Reading operator()(const Peers&) const { return Reading::kConsumed; }
  Reading operator()(const Welcome&) const { return Reading::kDeliver; }
  template <class Other>
  requires(!includes(kHearers<Other>, Hearer::kRouter)) Reading operator()(const Other&) const {
    return Reading::kDeliver;
  }
};

MailRoom::MailRoom(Settings settings, Parts parts)
    : settings_(std::move(settings)),
      parts_(parts),
      requests_(settings_.requests),
      ahead_(settings_.held_bytes_max),
      locals_(parts.links, parts.edge, parts.notes) {}

void MailRoom::post(Letter letter, Instant now) {
  if (auto* forward = std::get_if<Forward>(&letter.body)) return add_request(std::move(*forward), now);
  fill_in(letter.body);
  route(std::move(letter), now);
}

// A stage and the data loader each have their bound; nobody else requests.
void MailRoom::add_request(Forward forward, Instant now) {
  const Incarnation requester = forward.sender;
  route_all(requests_.add(requester, std::move(forward), now), now);
  const std::size_t bound = settings_.requests.entries_per_requester_max * (locals_.size() + 1);
  parts_.notes.marks.requests.note(parts_.notes.trace, requests_.size(), bound);
}

// Adds what only the router knows of its process: what was sent, how far the journal has brought what it serves.
void MailRoom::fill_in(MessageBody& body) {
  if (auto* report = std::get_if<ReplicaReport>(&body)) {
    report->bytes = parts_.connections.take_sent();
    const std::uint64_t retries = requests_.counts().sent_again + requests_.counts().rerouted;
    report->retried = static_cast<std::uint32_t>(retries - std::exchange(retries_told_, retries));
  } else if (auto* chunk = std::get_if<FileChunk>(&body)) {
    chunk->process = parts_.links.self().process.value_or(ProcessIncarnation{});
  } else if (auto* join = std::get_if<Join>(&body)) {
    for (ServedReplica& served : join->serves) {
      if (view().contains(served.replica)) served.version = view().committed_steps();
    }
  }
}

void MailRoom::route_all(std::vector<Letter> letters, Instant now) {
  for (Letter& letter : letters) route(std::move(letter), now);
}

void MailRoom::route(Letter letter, Instant now) {
  const auto process = process_of(letter.to);
  if (!process) return parts_.notes.drop(letter, Undelivered::Why::kNobody);
  letter.to.process = *process;
  letter.from = parts_.links.self().process.value_or(ProcessIncarnation{});
  if (is_here(*process)) return deliver(std::move(letter), {}, now);
  parts_.outgoing.send(std::move(letter));
}

std::optional<ProcessIncarnation> MailRoom::process_of(const Address& to) const {
  if (to.role == Role::kStage) return process_of_replica(to);
  if (to.role == Role::kStorage) return parts_.links.storage();
  return to.process;
}

// Here, by the journal, or by what it said before it was a member. The address's own word last.
std::optional<ProcessIncarnation> MailRoom::process_of_replica(const Address& to) const {
  if (locals_.contains(local_key(to))) return parts_.links.self().process;
  if (const auto member = view().find(to.incarnation)) return member->process;
  if (const auto hint = parts_.hints.process_of(to.incarnation)) return hint;
  return to.process == ProcessIncarnation{} ? std::nullopt : std::optional(to.process);
}

// Says if letters to this replica go over a good link now, or stay here.
bool MailRoom::is_linked(Incarnation replica) const {
  const auto process = process_of_replica(to_stage({}, replica));
  return process && (is_here(*process) || parts_.links.link_to(*process));
}

void MailRoom::receive(Letter letter, Duration transfer, Instant now) {
  const JournalPosition position = position_of(letter.body);
  if (!journal_.is_behind(position)) return deliver(std::move(letter), transfer, now);
  journal_.saw(next_of(journal_.position()));
  hold({std::move(letter), transfer}, position, now);
  fetch_journal(now);
}

void MailRoom::hold(HeldLetters::Held held, JournalPosition position, Instant now) {
  const std::vector<Letter> lost = ahead_.add(std::move(held), position);
  kHeldBytesMax.reached_if(!lost.empty());
  parts_.notes.marks.held.note(parts_.notes.trace, ahead_.bytes(), settings_.held_bytes_max);
  for (const Letter& letter : lost) {
    parts_.notes.drop(letter, Undelivered::Why::kTooFarAhead);
    refuse_question(letter, RefusalReason::kStepNotReached, now);
  }
}

void MailRoom::forget_absent() {
  const auto is_there = [this](ProcessIncarnation process) { return parts_.outgoing.is_there(process); };
  for (const Letter& letter : ahead_.take_of_absent(is_there)) parts_.notes.drop(letter, Undelivered::Why::kNobody);
}

void MailRoom::deliver(Letter letter, Duration transfer, Instant now) {
  if (auto* shard = std::get_if<SaveShard>(&letter.body)) shard->process = letter.from;
  if (auto* image = std::get_if<StateImage>(&letter.body)) image->on_its_way_ms = milliseconds(transfer);
  const Reading reading = std::visit(Reader{*this, letter.to, now}, letter.body);
  if (reading == Reading::kDeliver) hand_over(std::move(letter), transfer, now);
}

void MailRoom::hand_over(Letter letter, Duration transfer, Instant now) {
  if (locals_.hand_over(letter, transfer, now)) return;
  parts_.notes.drop(letter, Undelivered::Why::kNobody);
  refuse_question(letter, RefusalReason::kUnknownReplica, now);
}

// Whoever asked a stage hears why it has no answer, and need not wait for one.
void MailRoom::refuse_question(const Letter& letter, RefusalReason reason, Instant now) {
  if (letter.to.role != Role::kStage) return;
  if (const auto* forward = std::get_if<Forward>(&letter.body)) route(refusal_of(letter, *forward, reason), now);
  if (const auto* ask = std::get_if<Ask>(&letter.body)) route(refusal_of(letter, *ask, reason), now);
}

void MailRoom::follow(const JournalEntries& entries, Instant now) {
  const JournalNews news = journal_.accept(entries, now);
  if (news.past) {
    requests_.begin_at(*news.past);
    locals_.begin_at(news.past);
  }
  for (const JournalEntry& entry : news.entries) {
    auto letters = requests_.follow(entry, now);
    locals_.follow(entry);
    if (const auto* added = std::get_if<AddReplica>(&entry.body)) parts_.hints.added(added->replica);
    route_all(std::move(letters), now);
  }
  if (journal_.has_diverged()) end_of_another_journal(now);
  for (HeldLetters::Held& held : ahead_.take_up_to(journal_.position())) {
    deliver(std::move(held.letter), held.transfer, now);
  }
  if (!ahead_.is_empty()) journal_.saw(next_of(journal_.position()));
  fetch_journal(now);
}

// Nobody can follow two journals (P-3b).
void MailRoom::end_of_another_journal(Instant now) {
  const EndProcess order{"the spawner's journal is not the one that was followed here", 1};
  deliver({{}, to_node_agent(parts_.links.self().process.value_or(ProcessIncarnation{})), order}, {}, now);
}

void MailRoom::fetch_journal(Instant now) {
  const auto process = parts_.links.self().process;
  const bool is_reachable = process && (process == kSpawnerProcess || parts_.links.link_to(kSpawnerProcess));
  if (!is_reachable) return;
  const auto after = journal_.gap(now);
  if (after) route({{}, to_supervisor(), FetchJournal{*process, *after}}, now);
}

void MailRoom::fetch_journal_at_once(Instant now) {
  journal_.ask_at_once();
  fetch_journal(now);
}

void MailRoom::detach(const Address& actor) {
  locals_.detach(local_key(actor));
  if (actor.role == Role::kStage) requests_.forget(actor.incarnation);
}

void MailRoom::send_again(Instant now) {
  route_all(requests_.tick(now, [this](Incarnation hop) { return is_linked(hop); }), now);
}

void MailRoom::look_after_locals(Instant now) {
  for (const Inject& order : locals_.take_missed(now)) tell_missed(order, now);
  locals_.forget_taken();
  fetch_journal(now);
}

void MailRoom::tell_missed(const Inject& order, Instant now) {
  const std::string where = compose(" in process ", order.target.process);
  const std::string why = compose("#", order.id, ": the actor it was for is down", where, ", and did not come back");
  route({{}, to_metrics(), RunEvent{RunEventKind::kInjectionMissed, "chaos", why, 0}}, now);
}

}  // namespace shoal
