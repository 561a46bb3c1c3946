// Images, sums and shards for others.
#include "runtime/pipeline/replica/state/state_given.h"

#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// Names the version that was asked for: a joiner that takes another one by the time it hears of it goes on.
void refuse_state(Incarnation joiner, std::uint64_t version, const std::string& reason, ReplicaTurn& turn) {
  turn.send_to_peer(joiner, StateUnavailable{joiner, version, reason, turn.replica().setup.self});
}

void refuse_state(const FetchState& question, const std::string& reason, ReplicaTurn& turn) {
  refuse_state(question.replica, question.step, reason, turn);
}

}  // namespace

void StateGiven::forget(Incarnation joiner) {
  feeds_.end(joiner);
  pieces_.end(joiner);
}

void StateGiven::hear(const FetchState& question, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!self.is_asked_by(question)) {
    return refuse_state(question, "it is no member of the view that was asked for", turn);
  }
  if (question.offset > 0) return give_further(question, turn);
  if (question.names.empty()) pieces_.end(question.replica);  // it has all of it
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

void StateGiven::give_further(const FetchState& wanted, ReplicaTurn& turn) {
  feeds_.arriving(wanted.replica, wanted.held, turn.now());
  if (auto* image = pieces_.find(wanted.replica, wanted.step)) {
    return read(*image, wanted.offset, wanted.held, turn);
  }
  if (pieces_.has(wanted.replica)) return;  // it asks of an older one
  forget(wanted.replica);
  refuse_state(wanted, "it does not give that state any more", turn);
}

void StateGiven::hear(const FetchShard& question, ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  if (question.branch != setup.branch || question.replica != setup.self) return;
  if (auto* image = pieces_.find(Incarnation{}, question.step)) {
    return read(*image, question.offset, question.held, turn);
  }
  turn.send(to_supervisor(),
            StateUnavailable{setup.self, question.step, "its replica does not hold that state any more", setup.self});
}

void StateGiven::read(GivenPieces::Image& image, std::uint64_t offset, std::uint64_t held, ReplicaTurn& turn) {
  const bool is_due = GivenPieces::is_due(image, offset, held, turn.now());
  const bool is_over = image.held == image.source->byte_count();
  if (is_over) return pieces_.end(Incarnation(image.taker), image.state.version);
  if (!is_due) return;
  reading_ = {image.taker, image.state.version, offset};
  turn.run(PieceJob{image.source, offset}, Activity::kApply);
}

void StateGiven::give(const FetchState& wanted, ReplicaTurn& turn) {
  switch (feeds_.hear(wanted, turn.replica().state.version, turn.now())) {
    case StateFeeds::Answer::kNothing: break;
    case StateFeeds::Answer::kRefuse: refuse_state(wanted, "it does not feed this joiner", turn); break;
    case StateFeeds::Answer::kImage:
      pieces_.end(wanted.replica);
      image_for_ = wanted.replica;
      turn.run(ImageJob{}, Activity::kApply);
      break;
  }
}

// Storage says it of this replica's shard, a joiner of the state that it copies.
void StateGiven::hear(const StateProgress& message, ReplicaTurn& turn) {
  const bool is_own = message.replica == turn.replica().setup.self;
  if (is_own != message.is_shard) return;
  if (message.is_shard) return pieces_.arriving(Incarnation{}, turn.now());
  feeds_.arriving(message.replica, message.bytes, turn.now());
  pieces_.arriving(message.replica, turn.now());
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
    refuse_state(joiner, self.state.version, "more sums would only pile up before it", turn);
  }
}

// Joiners must come to this very state (S-3).
void StateGiven::hear(const StepEnded&, ReplicaTurn& turn) {
  if (!feeds_.is_empty()) turn.tell(ReadyWanted{});
}

void StateGiven::hear(const TimePassed&, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  pieces_.drop_silent(turn.now());
  feeds_.drop_silent(turn.now());
  if (self.is_member() && !feeds_.is_empty() && !self.is_at_boundary) turn.tell(ReadyDue{});
}

void StateGiven::hear(const StateAtRest&, ReplicaTurn& turn) {
  while (!turn.is_running() && !asked_at_boundary_.empty()) {
    give(asked_at_boundary_.extract(asked_at_boundary_.begin()).mapped(), turn);
  }
}

void StateGiven::hear(const Imaged& result, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  ENSURE(!self.is_at_boundary, "an image is of a version: no round is due before it");
  const Incarnation taker = std::exchange(image_for_, Incarnation{});
  if (result.rest) pieces_.begin({taker, self.state, result.rest}, turn.now());
  send({taker, self.state, result.image, 0, result.bytes_total}, turn);
  if (taker != Incarnation{}) turn.tell(ReadyWanted{});
}

void StateGiven::hear(const PieceRead& result, ReplicaTurn& turn) {
  const auto* image = pieces_.find(reading_.taker, reading_.version);
  ENSURE(image != nullptr, "an image stays while a piece of it is read");
  send({reading_.taker, image->state, result.bytes, reading_.offset, image->source->byte_count()}, turn);
}

void StateGiven::send(Piece piece, ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  const HeldState& held = piece.state;
  if (piece.taker != Incarnation{}) {
    StateImage given{piece.taker,         held.version,      std::move(piece.bytes), setup.self,
                     held.optimizer_step, held.tokens_total, piece.offset,           piece.bytes_total};
    return turn.send_to_peer(piece.taker, std::move(given));
  }
  SaveShard shard{setup.run,        setup.branch,      held.version, held.optimizer_step,    held.tokens_total,
                  setup.stage,      setup.stage_count, setup.self,   std::move(piece.bytes), piece.offset,
                  piece.bytes_total};
  turn.send(Address{{}, Role::kStorage, {}, {}}, std::move(shard));
}

}  // namespace shoal
