// How a replica follows the journal: P-3, P-23 .. P-25 and P-28.
#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/compose.h"
#include "runtime/pipeline/replica/replica.h"

namespace shoal {

Effects ReplicaCore::begin_at(const View& past, Instant now) {
  begin_turn(now);
  if (past.position() <= position_ || membership_ == Membership::kEnded) return end_turn();
  if (position_.value != 0 || past.contains(setup_.self)) {
    end("the journal went on without this replica for longer than its entries are kept");
    return end_turn();
  }
  position_ = past.position();
  quarantines_ = past.quarantines();
  ends_ = past.ends();
  if (rounds_ && past.branch() == setup_.branch) {
    for (const RoundId& round : past.newest_rounds(setup_.stage)) rounds_->pass_over(round);
  }
  for (std::uint32_t stage = 0; stage < past.stage_count(); ++stage) {
    for (const ReplicaMember& member : past.replicas_of(StageId{stage})) {
      const AddReplica known{StageId{stage}, member.slot, member.incarnation, member.process, past.committed_steps()};
      members_[member.incarnation] = stage;
      if (copy_) copy_->follow({past.position(), past.branch(), setup_.term, known}, now);
    }
  }
  if (copy_) copy_->reach(past.position());
  return end_turn();
}

Effects ReplicaCore::receive(const JournalEntry& message, Instant now) {
  begin_turn(now);
  if (message.position <= position_ || membership_ == Membership::kEnded) return end_turn();
  if (message.position.value > position_.value + 1) {
    fetch_journal();
    return end_turn();
  }
  position_ = message.position;
  setup_.term = std::max(setup_.term, message.term);
  ends_.follow(message);
  const bool is_commit =
      std::holds_alternative<Commit>(message.body) || std::holds_alternative<CommitRound>(message.body);
  if (!is_commit || message.branch == setup_.branch)
    std::visit([this](const auto& body) { follow(body); }, message.body);
  if (copy_) copy_->follow(message, now_);
  if (copy_ && message.branch > setup_.branch) end("the run went back to a checkpoint while this replica joined it");
  if (!is_running_ && is_member()) readmit_waiting();
  pursue_copy();
  return end_turn();
}

void ReplicaCore::fetch_journal() { send(to_supervisor(), FetchJournal{setup_.process, position_}); }

void ReplicaCore::follow(const AddReplica& entry) {
  members_[entry.replica] = entry.stage.value;
  feeds_.end(entry.replica);
  if (entry.replica != setup_.self) return;
  if (membership_ != Membership::kReady || entry.version != version_ || entry.stage != setup_.stage) {
    return end(compose("the journal adds this replica at version ", entry.version, ", it holds version ", version_));
  }
  membership_ = Membership::kMember;
  copy_.reset();
  if (rounds_) rounds_->start_at(version_);
  if (rounds_) rounds_->pass_over_until(ends_.newest());
  static_cast<void>(time_.take(now_));  // loading and waiting to be added are no part of a step
  take_waiting_order();
}

void ReplicaCore::follow(const RemoveReplica& entry) {
  members_.erase(entry.replica);
  feeds_.end(entry.replica);
  if (entry.replica == setup_.self) return end("removed: " + entry.reason);
  if (!rounds_ || !is_member()) return;
  if (const auto why = rounds_->lost(entry.replica)) end(*why);
}

// What it has answered stays, and shows in its manifest: the group zeroes the stage then (P-16).
void ReplicaCore::follow(const Quarantine& entry) {
  quarantines_.insert(entry.step, entry.microbatch);
  if (entry.step.value != version_ || !ledger_.withdraw(entry.microbatch)) return;
  queue_.drop_training_of(entry.microbatch);
  if (ledger_.answered_count() > 0 && ledger_.in_flight_count() == 0) send_progress();
}

void ReplicaCore::follow(const Commit& entry) {
  if (!is_member()) return;
  const auto own = std::find_if(entry.stages.begin(), entry.stages.end(),
                                [this](const StageCommit& stage) { return stage.stage == setup_.stage; });
  const bool holds_sum = own != entry.stages.end() && phase_ == Phase::kReduced && epoch_ == own->epoch;
  if (entry.step.value != version_ || (!entry.skip && !holds_sum)) {
    return end(compose("the journal commits step ", entry.step, ", for which this replica (version ", version_,
                       ", epoch ", epoch_, ") has no sum (P-24)"));
  }
  feed_joiners(entry);
  applying_ = entry;
  std::optional<UpdateOrder> update;
  if (!entry.skip) update = UpdateOrder{entry.learning_rate, entry.clip_scale, entry.optimizer_step};
  if (rounds_) update = own_update(entry);
  run(ApplyJob{update}, Activity::kApply);
}

void ReplicaCore::finish(Applied result) {
  state_digest_ = result.state_digest;
  report_ = report_of_step();
  if (!rounds_) return finish_step();
  phase_ = Phase::kReduced;  // also of a skipped step: what the next one is made of comes after the boundary
  rounds_->trained(own_tokens(), applying_->token_count);
  rounds_->reach(version_ + 1);
  if (applying_->is_last) rounds_->close();
}

void ReplicaCore::finish_step() {
  send_report();
  ++version_;
  setup_.optimizer_step = applying_->optimizer_step;
  setup_.tokens_total += applying_->token_count;
  phase_ = Phase::kOpen;
  epoch_kind_ = OrderKind::kNone;
  emptied_ = epoch_;
  ledger_.clear();
  queue_.clear();
  evaluations_.clear();
  ring_.reset();
  reduce_.reset();
  reduced_.reset();
  held_parts_.clear();
  repeated_this_step_ = 0;
  if (!feeds_.is_empty()) send_ready();  // whom it feeds must come to this very state (S-3)
  const auto& savers = applying_->checkpoint_by;
  const bool saves = std::find(savers.begin(), savers.end(), setup_.self) != savers.end();
  if (saves) return run(ImageJob{}, Activity::kApply);
  start_next_step();
}

// Its times end with the apply, as those of the next step begin there.
ReplicaReport ReplicaCore::report_of_step() {
  ReplicaReport report{setup_.branch, StepId{version_}, setup_.stage, setup_.self, {}, {}, 0, 0, 0, {}};
  report.time = time_.take(now_);
  report.microbatches = static_cast<std::uint32_t>(ledger_.answered_count());
  report.retried = static_cast<std::uint32_t>(repeated_this_step_);
  if (rounds_) report.passes = ledger_.passes();  // otherwise all replicas of a stage have the same weights
  return report;
}

// After the boundary: the bytes of its rounds belong to the step before it, and the digest is what all agree on then.
void ReplicaCore::send_report() {
  report_.state_digest = state_digest_;
  send(to_metrics(), std::move(report_));
}

void ReplicaCore::finish(Imaged result) {
  CHECK(!is_at_boundary(), "an image is of a version: no round is due before it");
  if (const auto joiner = std::exchange(image_for_, std::nullopt)) return give_image(*joiner, std::move(result.image));
  SaveShard shard{setup_.run,   setup_.branch,      version_,    setup_.optimizer_step,  setup_.tokens_total,
                  setup_.stage, setup_.stage_count, setup_.self, std::move(result.image)};
  send(Address{{}, Role::kStorage, {}, {}}, std::move(shard));
  if (applying_) start_next_step();
}

void ReplicaCore::start_next_step() {
  applying_.reset();
  readmit_waiting();
  take_waiting_order();
}

// What came too early is judged again: by the new version, as a member.
void ReplicaCore::take_waiting_order() {
  const auto order = std::exchange(waiting_order_, std::nullopt);
  if (order) std::visit([this](const auto& message) { take_order(message); }, *order);
}

}  // namespace shoal
