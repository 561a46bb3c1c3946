// The state machine of sync_group.h. Inputs change state and append effects; take_effects() hands them out.
#include "runtime/sync/sync_group.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/compose.h"
#include "runtime/sync/sync_group_verdict.h"

namespace shoal {

SyncGroupCore::SyncGroupCore(SyncGroupConfig config)
    : config_(std::move(config)), sum_(make_agreement()), patience_(config_.reduce_timeout, config_.reduce_floor) {
  CHECK(config_.self.value != 0 && config_.microbatches > 0, "a sync group has an incarnation and a plan");
}

void SyncGroupCore::begin_at(const View& past) {
  CHECK(view_.position() == JournalPosition{}, "what the journal said so far comes before its entries");
  view_ = past;
}

SyncGroupEffects SyncGroupCore::follow(const JournalEntry& entry, Instant now) {
  const JournalPosition change_before = view_.last_change_of(config_.stage);
  view_.apply(entry);
  const bool was_appointed = std::exchange(is_appointed_, view_.group_of(config_.stage) == config_.self);
  if (was_appointed && !is_appointed_) {
    begin_step();
    note(compose("another group or branch took over: ", describe(entry)));
  }
  if (!is_appointed_) return take_effects();
  if (!was_appointed) {
    begin_step();
    epoch_ = Epoch{config_.self, 0};
    quiet_since_ = now;
    open(now, "appointed");  // P-21
    return take_effects();
  }
  if (std::holds_alternative<Commit>(entry.body)) {
    begin_step();
    std::swap(hints_, early_hints_);
    quiet_since_ = now;
    hint_not_before_ = now;
  }
  if (view_.last_change_of(config_.stage) != change_before) {
    if (std::holds_alternative<RemoveReplica>(entry.body)) {  // what it had accumulated is sent again first (P-12)
      hints_.all_answered = false;
      hint_not_before_ = now + first_interval();
    }
    std::erase_if(holders_, [&](const auto& holder) { return !is_member(holder.second); });
    std::erase_if(missing_, [&](MicrobatchId microbatch) { return view_.quarantined().contains(microbatch); });
    if (order_) open(now, what_changed(entry));  // P-20
  }
  prepare_if_due(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const Progress& progress, Instant now) {
  const OrderId& order = progress.order;
  if (order.branch != view_.branch() || order.stage != config_.stage || order.step < step()) return take_effects();
  Hints& hints = order.step == step() ? hints_ : early_hints_;
  if (order.step.value > step().value + 1) return take_effects();
  Hint& known = hints.progress[progress.member];
  const bool has_more = progress.count > known.count;
  known = std::max(known, Hint{order.epoch, progress.count});
  if (order.step == step()) {
    const bool moves_the_sum = sum_.hear(progress, now);
    if (has_more || moves_the_sum) quiet_since_ = now;
    sum_.obeyed(progress.member, order.epoch);
    if (phase() == Phase::kOpen && is_zero_awaited_ && sum_.unanswered().empty()) ask_for_missing(now);
  }
  prepare_if_due(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const AllAnswered& hint, Instant now) {
  if (hint.branch != view_.branch()) return take_effects();
  if (hint.step == step()) hints_.all_answered = true;
  if (hint.step.value == step().value + 1) early_hints_.all_answered = true;
  prepare_if_due(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const Manifest& manifest, Instant now) {
  if (!sum_.hear(manifest)) return take_effects();
  for (const ManifestEntry& entry : manifest.entries) holders_[entry.microbatch] = manifest.member;
  // A frozen member's manifest is also its exact count.
  hints_.progress[manifest.member] = {epoch_, static_cast<std::uint32_t>(manifest.entries.size())};
  if (sum_.unanswered().empty()) decide(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const Reduced& reduced, Instant now) {
  if (!sum_.hear(reduced, now)) return take_effects();
  quiet_since_ = now;
  if (sum_.unanswered().empty()) conclude(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const AskHolders& question, Instant now) {
  if (!is_appointed_ || question.branch != view_.branch() || question.step != step()) return take_effects();
  is_holder_asked_ = true;
  if (phase() == Phase::kOpen && !members().empty()) survey(now);
  if (phase() != Phase::kPreparing) tell_holders();
  return take_effects();
}

void SyncGroupCore::tell_holders() {
  if (!std::exchange(is_holder_asked_, false)) return;
  Holders answer{config_.stage, view_.branch(), step(), {}};
  for (const auto& [microbatch, replica] : holders_) answer.holders.push_back({microbatch, replica});
  effects_.letters.push_back({kSpawnerProcess, to_data_loader(), std::move(answer)});
}

// P-14a: sending a microbatch to another replica than the one that holds it makes a duplicate and a replayed step.
void SyncGroupCore::survey(Instant now) {
  is_survey_ = true;
  prepare(now);
}

void SyncGroupCore::end_survey(Instant now, const std::string& why) {
  open(now, why);
  tell_holders();
}

SyncGroupEffects SyncGroupCore::tick(Instant now) {
  sum_.look(now);
  if (!is_appointed_ || members().empty() || view_.is_finished()) return take_effects();
  if (const auto failure = sum_.overdue(now)) {
    announce(failure->event, failure->why);
    try_again(now, failure->why);
  }
  if (phase() == Phase::kPreparing && is_survey_ && sum_.age(now) >= config_.survey_timeout) {
    end_survey(now, compose("no manifest from ", list_members(sum_.unanswered()), " in time"));
  }
  prepare_if_due(now);
  repeat(now);
  return take_effects();
}

bool SyncGroupCore::hints_cover_plan(Instant now) const {
  if (hints_.all_answered && now >= hint_not_before_) return true;
  std::uint64_t answered = 0;
  for (const ReplicaMember& member : members()) {
    const auto hint = hints_.progress.find(member.incarnation);
    if (hint != hints_.progress.end() && hint->second.epoch >= last_zero_) answered += hint->second.count;
  }
  if (answered >= config_.microbatches - view_.quarantined().size()) return true;
  // Work had begun and no more of it was heard of for long: hints may have been lost, so look.
  const bool has_begun = order_ || !hints_.progress.empty();
  return has_begun && now - quiet_since_ >= sum_.doubled(config_.probe_after);
}

SumAgreement SyncGroupCore::make_agreement() const {
  return SumAgreement({"sum", config_.repeat_after, config_.keeps_sums_apart, config_.look_max});
}

void SyncGroupCore::begin_step() {
  sum_ = make_agreement();
  last_zero_ = Epoch{};
  hints_ = Hints{};
  holders_.clear();
  is_holder_asked_ = is_survey_ = is_zero_awaited_ = false;
  order_.reset();
  missing_.clear();
}

void SyncGroupCore::begin_epoch(Instant now) {
  ++epoch_.counter;
  const OrderId order{config_.run, view_.branch(), config_.term, config_.stage, step(), epoch_, {}};
  sum_.begin(order, view_.position(), members(), now);
  is_zero_awaited_ = false;
}

void SyncGroupCore::open(Instant now, const std::string& why) {
  begin_epoch(now);
  is_survey_ = false;
  note(compose("opens step ", step(), " as epoch ", epoch_, ": ", why));
  give_order(Open{sum_.order()});
}

// What was tried was in vain: the next one is given longer.
void SyncGroupCore::begin_another_try(Instant now) {
  sum_.tried_in_vain();
  quiet_since_ = now;
}

void SyncGroupCore::try_again(Instant now, const std::string& why) {
  begin_another_try(now);
  open(now, why);
}

void SyncGroupCore::zero(Instant now) {
  begin_another_try(now);
  begin_epoch(now);
  last_zero_ = epoch_;
  holders_.clear();
  hints_.progress.clear();
  give_order(Zero{sum_.order()});
}

void SyncGroupCore::prepare_if_due(Instant now) {
  if (!is_appointed_ || phase() != Phase::kOpen || members().empty()) return;
  if (!sum_.is_paused(now) && hints_cover_plan(now)) prepare(now);
}

void SyncGroupCore::prepare(Instant now) {
  begin_epoch(now);
  sum_.ask(now);
  give_order(Prepare{sum_.order(), last_zero_});
}

// P-16: the manifests of all members are in.
void SyncGroupCore::decide(Instant now) {
  std::vector<MemberManifest> all;
  for (const auto& [member, manifest] : sum_.manifests()) all.push_back({member, manifest.entries});
  const ManifestVerdict verdict = judge_manifests(all, config_.microbatches, view_.quarantined());
  const bool was_survey = std::exchange(is_survey_, false);
  if (verdict.is_exactly_once()) {
    reduce(now, verdict.token_count);
    return tell_holders();
  }
  const bool is_gap = verdict.twice.empty() && verdict.unknown.empty();
  if (was_survey && is_gap) {
    end_survey(now, "it is known who holds what");
    if (!missing_.empty()) ask_again(now, verdict.missing);  // what was asked for is not on its way for certain
    return;
  }
  hints_.all_answered = false;
  if (!is_gap) {
    const auto& named = verdict.twice.empty() ? verdict.unknown : verdict.twice;
    announce(verdict.twice.empty() ? "microbatch_unknown" : "microbatch_twice",
             compose("step ", step(), ": microbatch ", list_microbatches(named),
                     verdict.twice.empty() ? " is not in the plan" : " was accumulated more than once",
                     "; the stage starts the step again"));
    zero(now);
    tell_holders();
    std::vector<MicrobatchId> plan;
    for (std::uint32_t index = 0; index < config_.microbatches; ++index) {
      if (!view_.quarantined().contains(MicrobatchId{index})) plan.push_back(MicrobatchId{index});
    }
    return ask_again(now, std::move(plan));
  }
  announce("microbatch_missing", compose("step ", step(), ": microbatch ", list_microbatches(verdict.missing),
                                         " is in no manifest; it is asked for again"));
  try_again(now, "a gap in the manifests");
  tell_holders();
  ask_again(now, verdict.missing);
}

void SyncGroupCore::reduce(Instant now, std::uint64_t token_count) {
  missing_.clear();
  quiet_since_ = now;
  sum_.reduce(now, patience_.timeout());
  give_order(Reduce{sum_.order(), sum_.receivers(), token_count});
}

// P-19: every member holds a whole sum.
void SyncGroupCore::conclude(Instant now) {
  patience_.took(sum_.age(now));
  const auto failure = sum_.conclude(now);
  if (!failure) return vote();
  announce(failure->event, compose("step ", step(), ": ", failure->why));
  try_again(now, failure->why);
}

void SyncGroupCore::vote() {
  Prepared vote = sum_.vote();
  for (const auto& [member, manifest] : sum_.manifests()) vote.manifests.push_back({member, manifest.entries});
  vote.norms = sum_.reduced().begin()->second.norms;
  if (config_.keeps_sums_apart) join_sums(vote);
  effects_.letters.push_back({kSpawnerProcess, to_supervisor(), std::move(vote)});
}

// Of sums that stay apart: a digest of their digests, and their squared norms weighed by tokens.
void SyncGroupCore::join_sums(Prepared& vote) const {
  const auto tokens_of = [this](Incarnation member) {
    double tokens = 0;
    for (const ManifestEntry& entry : sum_.manifests().at(member).entries) {
      tokens += static_cast<double>(entry.token_count);
    }
    return tokens;
  };
  vote.digest = 0;
  double all_tokens = 0;
  for (const auto& [member, reduced] : sum_.reduced()) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    vote.digest = (vote.digest ^ reduced.digest) * kOdd;
    all_tokens += tokens_of(member);
  }
  std::map<std::string, double> norms;
  for (const auto& [member, reduced] : sum_.reduced()) {
    const double share = all_tokens > 0 ? tokens_of(member) / all_tokens : 0;
    for (const TensorNorm& norm : reduced.norms) norms[norm.name] += share > 0 ? share * norm.squared_norm : 0;
  }
  vote.norms.clear();
  for (const auto& [tensor, squared_norm] : norms) vote.norms.push_back({tensor, squared_norm});
}

Duration SyncGroupCore::first_interval() const {
  return std::min(sum_.doubled(config_.repeat_after), config_.ask_again_within);
}

// P-17, repeated until the next complete manifests.
void SyncGroupCore::ask_again(Instant now, std::vector<MicrobatchId> microbatches) {
  missing_ = std::move(microbatches);
  missing_interval_ = first_interval();
  hint_not_before_ = now + missing_interval_;
  is_zero_awaited_ = last_zero_ == epoch_;
  if (!is_zero_awaited_) return ask_for_missing(now);
  missing_at_ = now + config_.zero_within;
}

void SyncGroupCore::ask_for_missing(Instant now) {
  is_zero_awaited_ = false;
  missing_at_ = now + missing_interval_;
  send_missing();
}

void SyncGroupCore::send_missing() {
  if (config_.stage.value == 0) {
    effects_.letters.push_back({kSpawnerProcess, to_data_loader(), Missing{sum_.order(), Incarnation{}, missing_}});
    return;
  }
  for (const ReplicaMember& upstream : view_.replicas_of(StageId{config_.stage.value - 1})) {
    send_to_replica(upstream.incarnation, Missing{sum_.order(), upstream.incarnation, missing_});
  }
}

void SyncGroupCore::repeat(Instant now) {
  if (sum_.repeats(now)) {
    if (phase() == Phase::kVoted) {
      vote();
    } else if (order_) {
      give_order(*order_);
    }
  }
  if (phase() == Phase::kOpen && !missing_.empty() && now >= missing_at_) {
    if (!is_zero_awaited_) missing_interval_ = next_interval(missing_interval_);
    ask_for_missing(now);
  }
}

void SyncGroupCore::give_order(const Order& order) {
  order_ = order;
  for (const Incarnation member : sum_.receivers()) {
    std::visit([&](const auto& body) { send_to_replica(member, body); }, order);
  }
}

void SyncGroupCore::send_to_replica(Incarnation replica, MessageBody body) {
  const auto known = view_.find(replica);
  if (known) effects_.letters.push_back({kSpawnerProcess, to_stage(known->process, replica), std::move(body)});
}

void SyncGroupCore::note(const std::string& reason) { effects_.reasons.push_back(reason); }

void SyncGroupCore::announce(const std::string& event, const std::string& reason) {
  note(reason);
  effects_.letters.push_back({kSpawnerProcess, to_metrics(), RunEvent{event, name(), reason, step().value}});
}

std::string SyncGroupCore::name() const { return compose("sync_group/", config_.stage); }

SyncGroupEffects SyncGroupCore::take_effects() { return std::exchange(effects_, {}); }

std::string SyncGroupCore::explain() const {
  const std::string step_text = compose("step ", step(), ": ");
  if (!is_appointed_) return "not appointed";
  switch (phase()) {
    case Phase::kOpen:
      return missing_.empty() ? step_text + "computing" : step_text + "waiting for " + list_microbatches(missing_);
    case Phase::kPreparing: return step_text + "waiting for the manifests of " + list_members(sum_.unanswered());
    case Phase::kReducing: return step_text + "waiting for the sums of " + list_members(sum_.unanswered());
    case Phase::kVoted: return step_text + "waiting for the other stages";
  }
  return {};
}

}  // namespace shoal
