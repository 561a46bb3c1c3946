// Images, sums and shards for others.
#include "runtime/pipeline/replica/state_given.h"

#include <utility>

#include "runtime/base/check.h"

namespace shoal {
namespace {

void refuse_state(Incarnation joiner, const std::string& reason, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  turn.send_to_peer(joiner, StateUnavailable{joiner, self.state.version, reason, self.setup.self});
}

}  // namespace

void StateGiven::hear(const FetchState& question, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!self.is_asked_by(question)) {
    return refuse_state(question.replica, "it is no member of the view that was asked for", turn);
  }
  const bool is_of_a_member = self.knows(question.replica, self.setup.stage.value);
  if (self.has_rounds() && is_of_a_member) return;  // it asks for the mean of a round (P-34)
  if (!self.is_at_boundary) {
    give(question, turn);
  } else if (asked_at_boundary_.contains(question.replica) ||
             !StateFeeds::kFeedsMax.is_reached_by(asked_at_boundary_.size())) {
    // It is answered after the boundary: where rounds follow fast, who asks again would come to one each time.
    asked_at_boundary_.insert_or_assign(question.replica, question);
  }
}

void StateGiven::give(const FetchState& wanted, ReplicaTurn& turn) {
  switch (feeds_.hear(wanted, turn.replica().state.version, turn.now())) {
    case StateFeeds::Answer::kNothing: break;
    case StateFeeds::Answer::kRefuse: refuse_state(wanted.replica, "it does not feed this joiner", turn); break;
    case StateFeeds::Answer::kImage:
      image_for_ = wanted.replica;
      turn.run(ImageJob{}, Activity::kApply);
      break;
  }
}

void StateGiven::hear(const StateProgress& message, ReplicaTurn& turn) {
  const bool is_own = message.replica == turn.replica().setup.self;
  if (!is_own) feeds_.arriving(message.replica, message.bytes, turn.now());
}

// At a boundary there is no answer: the supervisor asks again.
void StateGiven::hear(const SaveState& order, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool holds_it = self.is_member() && order.branch == self.setup.branch && order.replica == self.setup.self &&
                        order.step == self.state.version;
  if (holds_it && !self.is_at_boundary) turn.run(ImageJob{}, Activity::kApply);
}

// Before its own apply: the step is committed, and the joiner can apply it at the same time. Between rounds there is no
// common sum.
void StateGiven::hear(const StepCommitted& fact, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (feeds_.is_empty() || self.has_rounds()) return;
  const Commit& commit = fact.commit;
  StepSum sum{{}, self.setup.self, self.setup.branch, commit.step, commit.token_count, fact.sum};
  const auto portions = feeds_.feed(self.state.version + 1, sum.values.byte_count());
  for (const Incarnation joiner : portions.fed) {
    sum.replica = joiner;
    turn.send_to_peer(joiner, sum);
  }
  for (const Incarnation joiner : portions.cut) {
    refuse_state(joiner, "more sums would only pile up before it", turn);
  }
}

// Joiners must come to this very state (S-3).
void StateGiven::hear(const StepEnded&, ReplicaTurn& turn) {
  if (!feeds_.is_empty()) turn.tell(ReadyWanted{});
}

void StateGiven::hear(const TimePassed&, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (self.is_member() && !feeds_.is_empty() && !self.is_at_boundary) turn.tell(ReadyDue{});
}

void StateGiven::hear(const StateAtRest&, ReplicaTurn& turn) {
  while (!turn.is_running() && !asked_at_boundary_.empty()) {
    give(asked_at_boundary_.extract(asked_at_boundary_.begin()).mapped(), turn);
  }
}

void StateGiven::hear(const Imaged& result, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const ReplicaSetup& setup = self.setup;
  const HeldState& held = self.state;
  CHECK(!self.is_at_boundary, "an image is of a version: no round is due before it");
  if (const auto joiner = std::exchange(image_for_, std::nullopt)) {
    StateImage given{*joiner, held.version, result.image, setup.self, held.optimizer_step, held.tokens_total};
    turn.send_to_peer(*joiner, std::move(given));
    return turn.tell(ReadyWanted{});
  }
  SaveShard shard{setup.run,   setup.branch,      held.version, held.optimizer_step, held.tokens_total,
                  setup.stage, setup.stage_count, setup.self,   result.image};
  turn.send(Address{{}, Role::kStorage, {}, {}}, std::move(shard));
}

}  // namespace shoal
