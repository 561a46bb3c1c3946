// sync.mode = diloco: steps on the own sum, and this replica's part in rounds (DESIGN.md §6).
//
// The step protocol stays what it is (P-1 .. P-24): a step is prepared, voted for and committed once for everybody.
// What differs is the sum: each member adopts its own accumulators over its own tokens and clips by its own norm.
// Between the apply of a step and the next one lies the boundary, where rounds begin and end.
#include <algorithm>
#include <utility>

#include "runtime/journal/commit.h"
#include "runtime/pipeline/replica/replica.h"

namespace shoal {

bool ReplicaCore::is_round_for_this_replica(const OrderId& order) const {
  return rounds_ && order.run == setup_.run && order.branch == setup_.branch && order.stage == setup_.stage &&
         order.term >= setup_.term;
}

// False: it is about a step. Nothing is answered before the own Add (P-25a): the order waits for it.
template <class AnyOrder>
bool ReplicaCore::take_round(const AnyOrder& order) {
  if (order.order.round.number == 0) return false;
  if (!is_round_for_this_replica(order.order) || membership_ == Membership::kEnded) {
    ++counters_.stale_orders;
  } else if (is_member()) {
    answer(rounds_->hear(order));
  } else if constexpr (std::is_same_v<AnyOrder, Prepare>) {
    std::erase_if(waiting_rounds_, [&](const Prepare& one) { return one.order.round == order.order.round; });
    if (!RoundMember::kRoundsMax.is_reached_by(waiting_rounds_.size())) waiting_rounds_.push_back(order);
  }
  return true;
}

template bool ReplicaCore::take_round(const Prepare& order);
template bool ReplicaCore::take_round(const Reduce& order);
template bool ReplicaCore::take_round(const Part& order);
template bool ReplicaCore::take_round(const PartsSent& order);
template bool ReplicaCore::take_round(const MissingParts& order);
template bool ReplicaCore::take_round(const Progress& order);

void ReplicaCore::answer(RoundAnswers answers) {
  for (Manifest& manifest : answers.manifests) send(to_sync_group(setup_.stage), std::move(manifest));
  send_parts(std::move(answers.parts));
  for (AddressedMark& mark : answers.marks) send_to_peer(mark.receiver, std::move(mark.mark));
  send_questions(std::move(answers.questions));
  for (Reduced& reduced : answers.reduced) send(to_sync_group(setup_.stage), std::move(reduced));
}

void ReplicaCore::follow(const CommitRound& entry) {
  if (!rounds_ || entry.stage != setup_.stage) return;
  if (!is_member()) return rounds_->pass_over(entry.round);
  if (const auto why = rounds_->follow(entry, members_of_stage())) end(*why);
}

// A member has nothing to join: it missed a round.
bool ReplicaCore::take_question(const FetchState& message) {
  if (!rounds_ || !is_known(message.replica, setup_.stage.value)) return false;
  rounds_->hear(message, now_);
  return true;
}

void ReplicaCore::exchange_means() {
  for (FetchState& question : rounds_->questions(now_)) {
    const Incarnation holder = question.donor;
    send_to_peer(holder, std::move(question));
  }
  for (StepSum& mean : rounds_->means()) {
    const Incarnation member = mean.replica;
    send_to_peer(member, std::move(mean));
  }
}

void ReplicaCore::tell_of_means() {
  for (Progress& news : rounds_->news(now_)) send(to_sync_group(setup_.stage), std::move(news));
}

// At the end of every turn, one thing after the other: contributions, then updates, then the next step.
void ReplicaCore::pursue_rounds() {
  if (!rounds_ || is_running_ || !is_member()) return;
  for (const Prepare& order : std::exchange(waiting_rounds_, {})) answer(rounds_->hear(order));
  exchange_means();
  tell_of_means();
  if (const auto round = rounds_->wanted_contribution()) {
    return run(ContributeRoundJob{round->fragment}, Activity::kReduce);
  }
  if (is_at_boundary()) {
    if (!rounds_->is_ready()) return;
    auto updates = rounds_->updates();
    if (!updates.empty()) return run(ApplyRoundJob{std::move(updates)}, Activity::kApply);
    rounds_->updated();
  }
  if (applying_) finish_step();
  while (!is_running_ && !asked_at_boundary_.empty()) {
    give_state(asked_at_boundary_.extract(asked_at_boundary_.begin()).mapped());
  }
}

void ReplicaCore::finish(RoundContributed result) { answer(rounds_->contributed(std::move(result.values))); }

void ReplicaCore::finish(RoundApplied result) {
  state_digest_ = result.state_digest;
  rounds_->updated();
}

// A joiner: what it trained on is nothing, its parameters are those that all agree on.
void ReplicaCore::finish(RestartedFromOuter result) {
  state_digest_ = result.state_digest;
  copy_->loaded(version_, now_);
  pursue_copy();
}

std::uint64_t ReplicaCore::own_tokens() const {
  std::uint64_t tokens = 0;
  for (const ManifestEntry& entry : ledger_.manifest()) tokens += entry.token_count;
  return tokens;
}

void ReplicaCore::adopt_own(TensorBlob values) { run(AdoptJob{std::move(values), own_tokens()}, Activity::kReduce); }

// Clipped by the own norm, in the order of names (DESIGN.md §4.8). None: the step is skipped, or nothing was done here.
std::optional<UpdateOrder> ReplicaCore::own_update(const Commit& entry) const {
  if (entry.skip || !reduced_ || own_tokens() == 0) return std::nullopt;
  const double clip_scale = clip_scale_of(setup_.clip_norm, gradient_norm_of(reduced_->norms));
  return UpdateOrder{entry.learning_rate, clip_scale, entry.optimizer_step};
}

}  // namespace shoal
