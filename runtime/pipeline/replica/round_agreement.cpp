// A member's rounds, and the boundary between steps.
#include "runtime/pipeline/replica/round_agreement.h"

#include <utility>

namespace shoal {
namespace {

void perform(RoundAnswers answers, ReplicaTurn& turn) {
  const Address group = to_sync_group(turn.replica().setup.stage);
  for (Manifest& manifest : answers.manifests) turn.send(group, std::move(manifest));
  send_parts(std::move(answers.parts), turn);
  send_marks(std::move(answers.marks), turn);
  send_questions(std::move(answers.questions), turn);
  for (Reduced& reduced : answers.reduced) turn.send(group, std::move(reduced));
}

}  // namespace

RoundAgreement::RoundAgreement(const ReplicaSetup& setup) {
  if (!setup.rounds) return;
  member_.emplace(
      RoundMemberSetup{setup.run, setup.branch, setup.stage, setup.self, *setup.rounds, setup.bucket_bytes});
  member_->start_at(setup.version);
  waiting_max_ = RoundSchedule(*setup.rounds).open_max();
}

bool RoundAgreement::is_meant_by(const OrderId& order, const ReplicaStanding& self) const {
  const bool is_ended = self.membership == Membership::kEnded;
  return member_ && !is_ended && order.run == self.setup.run && order.branch == self.setup.branch &&
         order.stage == self.setup.stage && order.term >= self.term;
}

// Nothing is answered before the own AddReplica (P-25a).
template <class Message>
void RoundAgreement::take(const Message& message, ReplicaTurn& turn) {
  if (!is_meant_by(message.order, turn.replica())) {
    ++stale_;
  } else if (turn.replica().is_member()) {
    perform(member_->hear(message), turn);
  }
}

template void RoundAgreement::take(const Reduce& message, ReplicaTurn& turn);
template void RoundAgreement::take(const Part& message, ReplicaTurn& turn);
template void RoundAgreement::take(const PartsSent& message, ReplicaTurn& turn);
template void RoundAgreement::take(const MissingParts& message, ReplicaTurn& turn);
template void RoundAgreement::take(const Progress& message, ReplicaTurn& turn);

// The order of a round waits for the own AddReplica, the newest of each.
void RoundAgreement::hear(const Prepare& order, ReplicaTurn& turn) {
  take(order, turn);
  if (!is_meant_by(order.order, turn.replica()) || turn.replica().is_member()) return;
  std::erase_if(waiting_, [&](const Prepare& one) { return one.order.round == order.order.round; });
  if (waiting_.size() < waiting_max_) waiting_.push_back(order);
}

void RoundAgreement::hear(const FetchState& question, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool is_of_a_member = self.is_asked_by(question) && self.knows(question.replica, self.setup.stage.value);
  if (member_ && is_of_a_member) member_->hear(question, turn.now());
}

void RoundAgreement::hear(const StepSum& mean, ReplicaTurn& turn) {
  if (member_ && turn.replica().is_member()) member_->hear(mean);
}

// A mean that this member gave may not have arrived.
void RoundAgreement::hear(const StateUnavailable& lost, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (member_ && self.is_member() && lost.replica != self.setup.self) member_->lost_on_its_way(lost);
}

void RoundAgreement::hear(const View& past, ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  ends_ = past.ends();
  if (!member_ || past.branch() != setup.branch) return;
  for (const RoundId& round : past.rounds().newest_of(setup.stage)) member_->pass_over(round);
}

void RoundAgreement::hear(const RemoveReplica& entry, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!member_ || !self.is_member() || entry.replica == self.setup.self) return;
  if (const auto why = member_->lost(entry.replica)) turn.end(*why);
}

void RoundAgreement::hear(const CommitRound& entry, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!member_ || entry.stage != self.setup.stage) return;
  if (!self.is_member()) return member_->pass_over(entry.round);
  if (const auto why = member_->follow(entry, self.members_of_stage())) turn.end(*why);
}

void RoundAgreement::hear(const StateLoaded&, ReplicaTurn& turn) {
  if (member_) member_->start_at(turn.replica().state.version);
}

void RoundAgreement::hear(const ReplicaAdmitted&, ReplicaTurn& turn) {
  if (!member_) return;
  member_->start_at(turn.replica().state.version);
  member_->pass_over_until(ends_.newest());
}

void RoundAgreement::hear(const StepTrained& fact, ReplicaTurn& turn) {
  if (!member_) return;
  member_->trained(fact.own_tokens, fact.commit.token_count);
  member_->reach(turn.replica().state.version + 1);
  if (fact.commit.is_last) member_->close();
}

void RoundAgreement::hear(const RoundContributed& result, ReplicaTurn& turn) {
  perform(member_->contributed(result.values), turn);
}

void RoundAgreement::hear(const RoundApplied& result, ReplicaTurn& turn) {
  turn.tell(StateChanged{result.state_digest});
  member_->updated();
}

void RoundAgreement::pursue(ReplicaTurn& turn) {
  if (!member_) return;
  for (const Prepare& order : std::exchange(waiting_, {})) perform(member_->hear(order), turn);
  give_and_ask(turn);
  if (const auto round = member_->wanted_contribution()) {
    return turn.run(ContributeRoundJob{round->fragment}, Activity::kReduce);
  }
  if (member_->is_at_boundary()) {
    if (!member_->is_ready()) return;
    auto updates = member_->updates();
    if (!updates.empty()) return turn.run(ApplyRoundJob{std::move(updates)}, Activity::kApply);
    member_->updated();
  }
  turn.tell(BoundaryPassed{});
  turn.tell(StateAtRest{});
}

// Means that were missed, here or by others; then how far the sums under way have come.
void RoundAgreement::give_and_ask(ReplicaTurn& turn) {
  for (FetchState& question : member_->questions(turn.now())) {
    const Incarnation holder = question.donor;
    turn.send_to_peer(holder, std::move(question));
  }
  for (StepSum& mean : member_->means()) {
    const Incarnation receiver = mean.replica;
    turn.send_to_peer(receiver, std::move(mean));
  }
  const Address group = to_sync_group(turn.replica().setup.stage);
  for (Progress& news : member_->news(turn.now())) turn.send(group, std::move(news));
}

}  // namespace shoal
