// Turns: what comes in is told to the parts, and so is every fact that follows from it.
#include "runtime/pipeline/replica/replica.h"

#include <algorithm>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// It changes what is true.
template <class Heard>
concept IsTrue = requires(ReplicaStanding& standing, const Heard& heard) {
  standing.hear(heard);
};

}  // namespace

ReplicaCore::ReplicaCore(ReplicaSetup setup, Instant now)
    : standing_(std::move(setup)),
      turn_(standing_, now),
      data_(standing_.setup),
      rounds_(standing_.setup),
      taken_(std::exchange(standing_.setup.image, std::nullopt), now) {}

template <class Heard, class Member>
void ReplicaCore::tell_part(Member& part, const Heard& heard) {
  if constexpr (PartHears<Member, Heard>) {
    part.hear(heard, turn_);
    settle();
  }
}

template <class Heard>
void ReplicaCore::tell(const Heard& heard) {
  static_assert(HeardByAReplica<Heard> || IsTrue<Heard>, "what no part hears is lost");
  if constexpr (IsTrue<Heard>) standing_.hear(heard);
  if constexpr (PartHears<StageAgreement, Heard>) {
    tell_part(agreement_on(heard.order), heard);
  } else {
    tell_part(data_, heard);
    tell_part(step_, heard);
    tell_part(rounds_, heard);
    tell_part(taken_, heard);
    tell_part(given_, heard);
    tell_part(ending_, heard);
  }
}

// The facts that the part told which has just returned; each of them to its end before the next one.
void ReplicaCore::settle() {
  standing_.is_at_boundary = rounds_.is_at_boundary();
  for (const Fact& fact : turn_.take_facts()) {
    std::visit([this](const auto& told) { tell(told); }, fact);
  }
}

StageAgreement& ReplicaCore::agreement_on(const OrderId& order) {
  if (is_of_a_round(order)) return rounds_;
  return step_;
}

Effects ReplicaCore::end_turn() {
  if (standing_.is_member() && !turn_.is_running()) {
    rounds_.pursue(turn_);
    settle();
  }
  return turn_.finish();
}

template <class Message>
void ReplicaCore::begin_turn(Instant now) {
  ENSURE(turn_.jobs().may_hear<Message>(), "a message was handled in the middle of a job");
  turn_.begin(now);
}

Effects ReplicaCore::begin(Instant now) {
  turn_.begin(now);
  taken_.begin(turn_);
  return end_turn();
}

template <HeardByAReplica Message>
Effects ReplicaCore::receive(const Message& message, Instant now) {
  begin_turn<Message>(now);
  if constexpr (std::is_same_v<Message, JournalEntry>) {
    follow(message);
  } else {
    tell(message);
  }
  return end_turn();
}

template Effects ReplicaCore::receive(const Forward&, Instant);
template Effects ReplicaCore::receive(const Backward&, Instant);
template Effects ReplicaCore::receive(const Ask&, Instant);
template Effects ReplicaCore::receive(const Open&, Instant);
template Effects ReplicaCore::receive(const Zero&, Instant);
template Effects ReplicaCore::receive(const Prepare&, Instant);
template Effects ReplicaCore::receive(const Reduce&, Instant);
template Effects ReplicaCore::receive(const Part&, Instant);
template Effects ReplicaCore::receive(const PartsSent&, Instant);
template Effects ReplicaCore::receive(const MissingParts&, Instant);
template Effects ReplicaCore::receive(const Progress&, Instant);
template Effects ReplicaCore::receive(const Missing&, Instant);
template Effects ReplicaCore::receive(const JournalEntry&, Instant);
template Effects ReplicaCore::receive(const StateImage&, Instant);
template Effects ReplicaCore::receive(const StateUnavailable&, Instant);
template Effects ReplicaCore::receive(const FetchState&, Instant);
template Effects ReplicaCore::receive(const StepSum&, Instant);
template Effects ReplicaCore::receive(const StateProgress&, Instant);
template Effects ReplicaCore::receive(const SaveState&, Instant);
template Effects ReplicaCore::receive(const FetchShard&, Instant);
template Effects ReplicaCore::receive(const CollectiveEvent&, Instant);

void ReplicaCore::follow(const JournalEntry& entry) {
  if (entry.position <= standing_.position || standing_.membership == Membership::kEnded) return;
  if (entry.position.value > standing_.position.value + 1) {
    return turn_.send(to_supervisor(), standing_.journal_question());
  }
  standing_.position = entry.position;
  standing_.term = std::max(standing_.term, entry.term);
  rounds_.note_end(entry);
  const bool is_commit = std::holds_alternative<Commit>(entry.body) || std::holds_alternative<CommitRound>(entry.body);
  if (!is_commit || entry.branch == standing_.setup.branch) {
    std::visit([this](const auto& body) { tell(body); }, entry.body);
  }
  tell(entry);
}

Effects ReplicaCore::begin_at(const View& past, Instant now) {
  begin_turn<View>(now);
  if (past.position() <= standing_.position || standing_.membership == Membership::kEnded) return end_turn();
  if (standing_.position.value != 0 || past.contains(standing_.setup.self)) {
    turn_.end("the journal went on without this replica for longer than its entries are kept");
  } else {
    tell(past);
  }
  return end_turn();
}

void ReplicaCore::transfer_timed(double transfer_ms) {
  data_.transfer_timed(transfer_ms);
  turn_.transfer(transfer_ms);
}

Effects ReplicaCore::tick(Instant now) {
  begin_turn<HeldTick>(now);
  tell(TimePassed{});
  return end_turn();
}

Effects ReplicaCore::run_next(Instant now) {
  if (!may_begin_a_job()) return {};
  turn_.begin(now);
  data_.run_next(turn_);
  return end_turn();
}

Effects ReplicaCore::completed(JobResult result, Instant now) {
  turn_.complete(now);
  std::visit([this](const auto& outcome) { tell(outcome); }, result);
  return end_turn();
}

ReplicaCounters ReplicaCore::counters() const {
  return {data_.dropped_answers(), step_.stale_orders() + rounds_.stale_orders()};
}

ReplicaFill ReplicaCore::fill() const {
  ReplicaFill fill = data_.fill();
  fill.held_parts = std::max(step_.early_parts(), rounds_.early_parts());
  return fill;
}

}  // namespace shoal
