// How facts and entries change what is true of a replica.
#include "runtime/pipeline/replica/replica_standing.h"

#include <algorithm>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {

ReplicaStanding::ReplicaStanding(ReplicaSetup given)
    : setup(std::move(given)), state{setup.version, setup.optimizer_step, setup.tokens_total, 0}, term(setup.term) {
  ENSURE(setup.stage.value < setup.stage_count, "a replica serves a stage of the pipeline");
  ENSURE(setup.self.value != 0, "incarnation 0 is nobody");
}

void ReplicaStanding::hear(const View& past) {
  position = past.position();
  for (std::uint32_t stage = 0; stage < past.stage_count(); ++stage) {
    for (const ReplicaMember& member : past.replicas_of(StageId{stage})) members[member.incarnation] = stage;
  }
}

void ReplicaStanding::hear(const EpochEntered& fact) {
  term = std::max(term, fact.order.term);
  epoch = fact.order.epoch;
  phase = fact.phase;
}

// Also after a skipped step nothing is accumulated before the next one begins.
void ReplicaStanding::hear(const StepApplied& fact) {
  state.digest = fact.state_digest;
  phase = Phase::kReduced;
}

void ReplicaStanding::hear(const StepEnded& fact) {
  ++state.version;
  state.optimizer_step = fact.commit.optimizer_step;
  state.tokens_total += fact.commit.token_count;
  phase = Phase::kOpen;
}

void ReplicaStanding::hear(const StateLoaded& fact) {
  membership = Membership::kReady;
  state.digest = fact.digest;
}

bool ReplicaStanding::knows(Incarnation replica, std::uint32_t stage) const {
  const auto found = members.find(replica);
  return found != members.end() && found->second == stage;
}

std::size_t ReplicaStanding::members_of_stage() const {
  const auto is_of_stage = [this](const auto& member) { return member.second == setup.stage.value; };
  return static_cast<std::size_t>(std::count_if(members.begin(), members.end(), is_of_stage));
}

bool ReplicaStanding::is_meant_by(const OrderId& order) const {
  const bool is_in = is_member() || membership == Membership::kReady;
  return is_in && order.run == setup.run && order.branch == setup.branch && order.stage == setup.stage &&
         order.term >= term && order.step.value >= state.version;
}

bool ReplicaStanding::is_asked_by(const FetchState& question) const {
  return is_member() && question.branch == setup.branch && question.donor == setup.self;
}

OrderId ReplicaStanding::order_id() const {
  return OrderId{setup.run, setup.branch, term, setup.stage, StepId{state.version}, epoch, {}};
}

Cause ReplicaStanding::answer_to(Cause cause) const {
  cause.term = term;
  cause.position = position;
  cause.hop = setup.stage.value;
  return cause;
}

Address ReplicaStanding::upstream(Incarnation replica) const {
  if (setup.stage.value == 0) return to_data_loader();
  return Address{{}, Role::kStage, StageId{setup.stage.value - 1}, replica};
}

}  // namespace shoal
