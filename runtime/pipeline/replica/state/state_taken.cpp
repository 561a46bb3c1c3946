// Loading, copying, following, and saying what is held.
#include "runtime/pipeline/replica/state/state_taken.h"

#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

const Address kStorage{{}, Role::kStorage, {}, {}};
constexpr Duration kTellOfPieces = std::chrono::seconds(1);

Address to_donor(const ReplicaStanding& self, Incarnation donor) {
  if (donor == Incarnation{}) return kStorage;
  return Address{{}, Role::kStage, self.setup.stage, donor};
}

}  // namespace

void StateTaken::begin(ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  if (setup.donor != Incarnation{}) {
    copy_.emplace(StateCopySetup{setup.self, setup.stage, setup.branch, setup.donor, setup.donor_seen_at,
                                 setup.tensor_names, setup.rounds});
  } else if (image_) {
    turn.run(LoadJob{std::exchange(image_, std::nullopt)}, Activity::kApply);
  } else if (setup.from_checkpoint) {
    fetch_stored(turn);
  } else {
    turn.run(LoadJob{}, Activity::kApply);
  }
}

void StateTaken::fetch_stored(ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  last_sent_ = turn.now();
  turn.send(kStorage, FetchState{setup.self, setup.version, setup.tensor_names, Incarnation{}, setup.branch});
}

// The state of that version, from storage.
bool StateTaken::awaits_stored(const ReplicaStanding& self, Incarnation donor, std::uint64_t version) const {
  return self.membership == Membership::kLoading && self.setup.from_checkpoint && !copy_ && donor == Incarnation{} &&
         version == self.setup.version;
}

// Asks for further pieces of it.
void StateTaken::fetch_further(ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  while (const auto offset = stored_->due(turn.now())) {
    turn.send(kStorage, FetchState{setup.self, setup.version, setup.tensor_names, Incarnation{}, setup.branch, *offset,
                                   stored_->held()});
  }
}

bool StateTaken::accepts_stored(const StateImage& image, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!awaits_stored(self, image.donor, image.step) || image.replica != self.setup.self) return false;
  const std::uint64_t bytes = image.image.byte_count();
  if (bytes == 0 && image.bytes_total > 0) return false;
  if (stored_) return stored_->bytes_total() == image.bytes_total && stored_->takes(image.offset, turn.now());
  if (image.offset > 0) return false;
  if (bytes < image.bytes_total) stored_.emplace(bytes, image.bytes_total, turn.now(), kStateRetry);
  return true;
}

void StateTaken::hear(const StateImage& message, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool is_stored = accepts_stored(message, turn);
  const bool is_copied = self.membership != Membership::kEnded && copy_ && copy_->accepts(message, turn.now());
  if (!is_stored && !is_copied) return;
  const std::uint64_t come = message.offset + message.image.byte_count();
  const double on_its_way_ms = message.on_its_way_ms + (message.offset == 0 ? 0 : coming_.on_its_way_ms);
  coming_ = {{}, message.step, {}, message.replica, message.donor, false, come, message.bytes_total, on_its_way_ms};
  if (come < message.bytes_total) {
    return turn.run(LoadPieceJob{{message.image, message.offset, message.bytes_total}}, Activity::kApply);
  }
  HeldState expected = self.state;
  expected.tokens_total = message.tokens_total;
  if (is_copied) {
    expected.version = message.step;
    expected.optimizer_step = message.optimizer_step;
  }
  turn.tell(StateExpected{expected});
  if (message.offset == 0) return turn.run(LoadJob{message.image}, Activity::kApply);
  turn.run(LoadPieceJob{{message.image, message.offset, message.bytes_total}}, Activity::kApply);
}

// The giver's router tells of a piece that is slow, and nobody of many that are fast.
void StateTaken::hear(const PieceLoaded&, ReplicaTurn& turn) {
  const std::uint64_t held = copy_ ? copy_->held_bytes() : stored_->held();
  const std::uint64_t bytes = coming_.bytes - held;
  if (copy_) copy_->took_piece(bytes, turn.now());
  if (stored_) stored_->took(bytes, turn.now());
  if (held == 0) told_bytes_ = 0;
  const bool is_news = coming_.bytes > told_bytes_ && turn.now() - told_at_ >= kTellOfPieces;
  if (is_news) pass_on(coming_, turn);
  if (stored_) fetch_further(turn);
  pursue(turn);
}

void StateTaken::hear(const StateUnavailable& message, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (copy_) {
    copy_->refused(message);
    return pursue(turn);
  }
  const bool is_awaited =
      self.membership == Membership::kLoading && message.replica == self.setup.self && message.donor == Incarnation{};
  if (is_awaited) turn.end(compose("storage cannot give the state after step ", message.step, ": ", message.reason));
}

void StateTaken::hear(const StateProgress& message, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (message.is_shard || message.replica != self.setup.self) return;
  const bool is_awaited =
      copy_ ? copy_->arriving(message, turn.now()) : awaits_stored(self, message.donor, message.step);
  if (is_awaited && stored_) stored_->arriving(turn.now());
  if (!is_awaited) return;
  StateProgress so_far = message;
  const bool is_of_what_comes = message.bytes >= coming_.bytes;  // and not of an image that begins again
  if (is_of_what_comes) so_far.on_its_way_ms += coming_.on_its_way_ms;
  pass_on(std::move(so_far), turn);
}

// To whoever gave it, that it gives no second one, and to the supervisor, that it waits.
void StateTaken::pass_on(StateProgress progress, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  last_sent_ = told_at_ = turn.now();
  told_bytes_ = progress.bytes;
  progress.branch = self.setup.branch;
  progress.stage = self.setup.stage;
  turn.send(to_donor(self, progress.donor), progress);
  turn.send(to_supervisor(), progress);
}

void StateTaken::hear(const StepSum& message, ReplicaTurn& turn) {
  if (copy_) copy_->hold(message, turn.now());
  pursue(turn);
}

void StateTaken::hear(const View& past, ReplicaTurn& turn) {
  if (!copy_) return;
  for (std::uint32_t stage = 0; stage < past.stage_count(); ++stage) {
    for (const ReplicaMember& member : past.replicas_of(StageId{stage})) {
      const AddReplica known{StageId{stage}, member.slot, member.incarnation, member.process, past.committed_steps()};
      copy_->follow({past.position(), past.branch(), turn.replica().term, known}, turn.now());
    }
  }
  copy_->reach(past.position());
}

void StateTaken::hear(const AddReplica& entry, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (entry.replica != self.setup.self) return;
  const std::uint64_t version = self.state.version;
  if (self.membership != Membership::kReady || entry.version != version || entry.stage != self.setup.stage) {
    return turn.end(
        compose("the journal adds this replica at version ", entry.version, ", it holds version ", version));
  }
  copy_.reset();
  static_cast<void>(turn.take_time());  // loading and waiting to be added are no part of a step
  turn.tell(ReplicaAdmitted{});
}

void StateTaken::hear(const RemoveReplica& entry, ReplicaTurn& turn) {
  if (entry.replica == turn.replica().setup.self) turn.end("removed: " + entry.reason);
}

void StateTaken::hear(const JournalEntry& entry, ReplicaTurn& turn) {
  if (!copy_) return;
  copy_->follow(entry, turn.now());
  if (entry.branch > turn.replica().setup.branch) {
    turn.end("the run went back to a checkpoint while this replica joined it");
  }
  pursue(turn);
}

void StateTaken::hear(const Loaded& result, ReplicaTurn& turn) { turn.tell(StateLoaded{result.state_digest}); }

void StateTaken::hear(const LoadRefused& result, ReplicaTurn& turn) {
  turn.end("the state to start with was refused: " + result.reason);
}

void StateTaken::hear(const StateLoaded&, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!copy_) return send_ready(turn);
  if (self.has_rounds()) return turn.run(RestartFromOuterJob{}, Activity::kApply);
  copy_->loaded(self.state.version, turn.now());
  pursue(turn);
}

// A joiner of rounds: what it trained on is nothing, its parameters are those that all agree on.
void StateTaken::hear(const RestartedFromOuter& result, ReplicaTurn& turn) {
  copy_->loaded(turn.replica().state.version, turn.now());
  turn.tell(StateChanged{result.state_digest});
}

void StateTaken::hear(const StateChanged&, ReplicaTurn& turn) { pursue(turn); }

void StateTaken::send_ready(ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  last_sent_ = turn.now();
  ready_version_ = self.state.version;
  turn.send(to_supervisor(),
            StageReady{self.setup.stage, self.setup.self, self.setup.process, self.state.version, self.state.digest});
}

void StateTaken::hear(const ReadyWanted&, ReplicaTurn& turn) { send_ready(turn); }

void StateTaken::hear(const ReadyDue&, ReplicaTurn& turn) {
  if (turn.now() - last_sent_ >= kReadyRetry) send_ready(turn);
}

void StateTaken::hear(const TimePassed&, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool fetches = awaits_stored(self, Incarnation{}, self.setup.version);
  if (fetches && stored_) fetch_further(turn);
  if (fetches && !stored_ && turn.now() - last_sent_ >= kStateRetry) fetch_stored(turn);
  const bool is_current = !copy_ || copy_->is_current();
  const bool is_waiting = self.membership == Membership::kReady && is_current;
  if (is_waiting && turn.now() - last_sent_ >= kReadyRetry) send_ready(turn);
  pursue(turn);
}

// One thing after the other: asks, repeats a committed step, says that it is where the journal is.
void StateTaken::pursue(ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!copy_ || turn.is_running() || self.membership == Membership::kEnded) return;
  const bool was_behind = copy_->fell_behind();
  while (auto ask = copy_->due(turn.now())) turn.send(to_donor(self, copy_->donor()), std::move(*ask));
  if (copy_->fell_behind() && !was_behind) send_ready(turn);
  if (auto step = copy_->next()) {
    std::optional<UpdateOrder> update;
    if (!step->is_skipped) update = UpdateOrder{step->learning_rate, step->clip_scale, step->optimizer_step};
    if (update && !step->sum.has_value()) {
      return turn.end(compose("the sum of step ", step->step, " came without values"));
    }
    return turn.run(FollowJob{std::move(step->sum), step->token_count, update}, Activity::kApply);
  }
  if (copy_->is_current() && ready_version_ != self.state.version) send_ready(turn);
}

void StateTaken::hear(const Followed& result, ReplicaTurn& turn) {
  const auto step = copy_->next();
  ENSURE(step, "a step is followed once");
  if (!step->is_skipped && result.sum_digest != step->digest) {
    return turn.end(compose("the donor's sum of step ", step->step, " is not the one that was committed (S-3)"));
  }
  const HeldState& held = turn.replica().state;
  turn.tell(StepFollowed{
      {held.version + 1, step->optimizer_step, held.tokens_total + step->token_count, result.state_digest}});
}

void StateTaken::hear(const StepFollowed&, ReplicaTurn& turn) {
  copy_->followed(turn.now());
  pursue(turn);
}

}  // namespace shoal
