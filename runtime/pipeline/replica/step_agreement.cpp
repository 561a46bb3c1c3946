// Orders of the sync group, the ring, and the commit.
#include "runtime/pipeline/replica/step_agreement.h"

#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/journal/commit.h"

namespace shoal {

// A library that has not come to an end is told to stop, whatever it waits for.
void StepAgreement::drop_sum(ReplicaTurn& turn) {
  if (collective_ != nullptr && !collective_->is_complete()) {
    communicator_ = {};
    turn.collect(CollectiveDrop{});
  }
  collective_ = nullptr;
  sum_.reset();
}

// From here on nothing of an older epoch counts: its ring, its parts and its sum are dropped.
void StepAgreement::enter(const OrderId& order, StepOrders::Kind kind, Phase phase, ReplicaTurn& turn) {
  orders_.enter(order, kind, turn.replica().epoch);
  drop_sum(turn);
  reduce_.reset();
  reduced_.reset();
  early_.drop_below(order.epoch);
  turn.tell(EpochEntered{order, phase});
}

void StepAgreement::hear(const Open& order, ReplicaTurn& turn) {
  if (orders_.judge(order, turn.replica()) != StepOrders::Verdict::kObey) return;
  enter(order.order, StepOrders::Kind::kOpen, Phase::kOpen, turn);
  turn.tell(StepOpened{});
}

void StepAgreement::hear(const Zero& order, ReplicaTurn& turn) {
  switch (orders_.judge(order, turn.replica())) {
    case StepOrders::Verdict::kIgnore: return;
    case StepOrders::Verdict::kRepeat: return turn.tell(ProgressWanted{});
    case StepOrders::Verdict::kObey: break;
  }
  enter(order.order, StepOrders::Kind::kZero, Phase::kOpen, turn);
  orders_.emptied(order.order.epoch);
  turn.tell(StepZeroed{order.order});
}

void StepAgreement::hear(const Prepare& order, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  switch (orders_.judge(order, self)) {
    case StepOrders::Verdict::kIgnore: return;
    case StepOrders::Verdict::kRepeat: return send_manifest(self.order_id(), turn);
    case StepOrders::Verdict::kObey: break;
  }
  const bool has_missed_a_zero = orders_.has_missed_a_zero(order);
  if (has_missed_a_zero) orders_.emptied(order.order.epoch);
  turn.tell(FreezeWanted{order, has_missed_a_zero});
}

void StepAgreement::hear(const ManifestMade& fact, ReplicaTurn& turn) {
  const OrderId& order = fact.wanted.order.order;
  enter(order, StepOrders::Kind::kPrepare, Phase::kFrozen, turn);
  manifest_ = fact.entries;
  in_flight_ = fact.in_flight;
  send_manifest(order, turn);
  if (fact.wanted.has_missed_a_zero) turn.run(ZeroJob{}, Activity::kReduce);
}

// A manifest that offers nothing does not say why: what goes before it on the same way does (P-18b).
void StepAgreement::send_manifest(const OrderId& order, ReplicaTurn& turn) const {
  const ReplicaSetup& setup = turn.replica().setup;
  Manifest manifest = manifest_of(order, setup);
  const std::string& lack = offers_none_ ? offers_none_because_ : setup.collective_lack;
  if (!manifest.collective && !lack.empty()) {
    Progress why{order, setup.self, static_cast<std::uint32_t>(manifest_.size())};
    why.failure = lack;
    turn.send(to_sync_group(setup.stage), std::move(why));
  }
  turn.send(to_sync_group(setup.stage), std::move(manifest));
}

Manifest StepAgreement::manifest_of(const OrderId& order, const ReplicaSetup& setup) const {
  Manifest manifest{order, setup.self, manifest_};
  manifest.in_flight = in_flight_;
  if (!offers_none_) manifest.collective = setup.collective;
  if (manifest.collective && communicator_ != Epoch{}) {
    manifest.collective->communicator = communicator_;
    manifest.collective->size = communicator_size_;
  }
  return manifest;
}

void StepAgreement::take_waiting(ReplicaTurn& turn) {
  const auto order = orders_.take_waiting();
  if (order) std::visit([&](const auto& message) { hear(message, turn); }, *order);
}

void StepAgreement::hear(const Reduce& order, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool is_of_this_step =
      self.is_member() && self.is_meant_by(order.order) && order.order.step.value == self.state.version;
  const bool can_be = !order.communicator || self.setup.collective;
  const bool is_expected = is_of_this_step && order.order.epoch == self.epoch && orders_.asks_for_a_sum() && can_be;
  const auto own_count = std::count(order.members.begin(), order.members.end(), self.setup.self);
  if (!is_expected || own_count != 1) {
    orders_.count_stale();
  } else if (reduce_) {
    if (sum_) send_marks(sum_->mark(), turn);
    if (reduced_) turn.send(to_sync_group(self.setup.stage), *reduced_);
  } else {
    reduce_ = order;
    const bool stays = order.communicator || self.has_rounds() || order.members.size() == 1;
    turn.run(ContributeJob{.stays_on_device = stays}, Activity::kReduce);
  }
}

void StepAgreement::hear(const Contributed& result, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  ENSURE(reduce_, "a contribution was taken for an order");
  if (self.has_rounds()) return turn.run(AdoptJob{result.values, own_tokens()}, Activity::kReduce);
  begin_sum(result.values, turn);
  news_ = SumProgress{};
  send_parts(sum_->begin(), turn);
  for (const Part& part : early_.take(self.epoch)) send_parts(sum_->receive(part), turn);
  hand_in(turn);
  tell_how_far(turn);
  adopt_when_complete(turn);
}

void StepAgreement::begin_sum(TensorBlob contribution, ReplicaTurn& turn) {
  const ReplicaSetup& self = turn.replica().setup;
  ReductionSetup setup{reduce_->order, reduce_->members, self.self, self.bucket_bytes};
  if (!reduce_->communicator) {
    sum_ = std::move(make_reduction(SyncBackend::kRing, std::move(setup), std::move(contribution)).value());
    return;
  }
  auto made = std::make_unique<CollectiveReduction>(std::move(setup), *reduce_->communicator, std::move(contribution));
  collective_ = made.get();
  sum_ = std::move(made);
}

void StepAgreement::hand_in(ReplicaTurn& turn) {
  auto order = collective_ == nullptr ? std::nullopt : collective_->take_order();
  if (order) turn.collect(std::move(*order));
}

// News of a sum that was dropped meanwhile concern nobody.
void StepAgreement::hear(const CollectiveEvent& event, ReplicaTurn& turn) {
  std::visit(
      [this, &turn](const auto& news) {
        const bool is_current = collective_ != nullptr && !collective_->is_complete();
        if (is_current && collective_->order() == news.order) hear_news(news, turn);
      },
      event.news);
}

void StepAgreement::hear_news(const CollectiveIdMade& made, ReplicaTurn& turn) {
  send_parts(collective_->hear(made), turn);
}

void StepAgreement::hear_news(const CollectiveSummed& summed, ReplicaTurn& turn) {
  collective_->hear(summed);
  communicator_ = *reduce_->communicator;
  communicator_size_ = static_cast<std::uint32_t>(reduce_->members.size());
  tell_how_far(turn);
  adopt_when_complete(turn);
}

// The sum stays incomplete: the group opens the step again.
void StepAgreement::hear_news(const CollectiveFailed& failed, ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  communicator_ = {};
  if (failed.is_for_good) {
    offers_none_ = true;
    offers_none_because_ = failed.reason;
  }
  Progress news{failed.order, setup.self, static_cast<std::uint32_t>(manifest_.size())};
  news.failure = failed.reason;
  turn.send(to_sync_group(setup.stage), std::move(news));
}

void StepAgreement::hear(const Part& part, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool is_current = self.is_member() && self.is_meant_by(part.order) &&
                          part.order.step.value == self.state.version && part.order.epoch >= self.epoch;
  if (!is_current) {
    orders_.count_stale();
  } else if (sum_ && part.order.epoch == self.epoch) {
    send_parts(sum_->receive(part), turn);
    hand_in(turn);
    tell_how_far(turn);
    adopt_when_complete(turn);
  } else {
    early_.hold(part);
  }
}

// It is about the sum under way, or about none that counts.
void StepAgreement::hear(const PartsSent& mark, ReplicaTurn& turn) {
  if (!sum_) return;
  if (auto question = sum_->missing(mark)) send_questions({std::move(*question)}, turn);
}

void StepAgreement::hear(const MissingParts& question, ReplicaTurn& turn) {
  if (!sum_) return;
  SentAgain again = sum_->send_again(question);
  send_parts(std::move(again.parts), turn);
  send_questions(std::move(again.questions), turn);
}

void StepAgreement::hear(const Progress& arriving, ReplicaTurn& turn) {
  if (!sum_ || sum_->order() != arriving.order) return;
  news_.piece_came();
  tell_how_far(turn);
}

void StepAgreement::tell_how_far(ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  auto news = news_.of(*sum_, self.setup.self, turn.now());
  if (!news) return;
  news->count = static_cast<std::uint32_t>(manifest_.size());
  turn.send(to_sync_group(self.setup.stage), *news);
}

void StepAgreement::adopt_when_complete(ReplicaTurn& turn) const {
  if (turn.replica().phase != Phase::kFrozen || !sum_->is_complete()) return;
  turn.run(AdoptJob{sum_->sum(), reduce_->token_count}, Activity::kReduce);
}

void StepAgreement::hear(const Adopted& result, ReplicaTurn& turn) {
  const ReplicaSetup& setup = turn.replica().setup;
  reduced_ = Reduced{reduce_->order, setup.self, result.sum.digest, result.sum.norms};
  turn.tell(SumAdopted{});
  turn.send(to_sync_group(setup.stage), *reduced_);
}

void StepAgreement::hear(const Commit& entry, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (!self.is_member()) return;
  const auto own = std::find_if(entry.stages.begin(), entry.stages.end(),
                                [&self](const StageCommit& stage) { return stage.stage == self.setup.stage; });
  const bool holds_sum = own != entry.stages.end() && self.phase == Phase::kReduced && self.epoch == own->epoch;
  if (entry.step.value != self.state.version || (!entry.skip && !holds_sum)) {
    return turn.end(compose("the journal commits step ", entry.step, ", for which this replica (version ",
                            self.state.version, ", epoch ", self.epoch, ") has no sum (P-24)"));
  }
  StepCommitted committed{entry, update_of(entry, self.setup), {}};
  if (!entry.skip && sum_) committed.sum = sum_->sum();
  const bool stayed = collective_ != nullptr || (reduce_ && reduce_->members.size() == 1);
  if (stayed) drop_sum(turn);  // what nobody reads any more can be written again
  turn.tell(std::move(committed));
}

// With rounds it is clipped by the own norm, in the order of names (DESIGN.md §4.8).
std::optional<UpdateOrder> StepAgreement::update_of(const Commit& entry, const ReplicaSetup& setup) const {
  if (entry.skip) return std::nullopt;
  if (!setup.rounds) return UpdateOrder{entry.learning_rate, entry.clip_scale, entry.optimizer_step};
  if (!reduced_ || own_tokens() == 0) return std::nullopt;  // nothing was done here
  const double clip_scale = clip_scale_of(setup.clip_norm, gradient_norm_of(reduced_->norms));
  return UpdateOrder{entry.learning_rate, clip_scale, entry.optimizer_step};
}

std::uint64_t StepAgreement::own_tokens() const {
  std::uint64_t tokens = 0;
  for (const ManifestEntry& entry : manifest_) tokens += entry.token_count;
  return tokens;
}

void StepAgreement::hear(const StepEnded&, ReplicaTurn& turn) {
  orders_.end_step(turn.replica().epoch);
  manifest_.clear();
  in_flight_.clear();
  drop_sum(turn);
  reduce_.reset();
  reduced_.reset();
  early_.clear();
}

}  // namespace shoal
