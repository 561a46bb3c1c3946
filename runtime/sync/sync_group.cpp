// The state machine of sync_group.h. Inputs change state and append effects; take_effects() hands them out.
#include "runtime/sync/sync_group.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/sync/sync_group_verdict.h"

namespace shoal {
namespace {

SumAgreement make_agreement(const SyncGroupConfig& config) {
  return SumAgreement({"sum", config.repeat_after, config.keeps_sums_apart, config.look_max});
}

// The vote for sums that stay apart: a digest of their digests, and their squared norms weighed by tokens.
void join_sums(const SumAgreement& sum, Prepared& vote) {
  const auto tokens_of = [&sum](Incarnation member) {
    double tokens = 0;
    for (const ManifestEntry& entry : sum.manifests().at(member).entries) {
      tokens += static_cast<double>(entry.token_count);
    }
    return tokens;
  };
  vote.digest = 0;
  double all_tokens = 0;
  for (const auto& [member, reduced] : sum.reduced()) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio
    vote.digest = (vote.digest ^ reduced.digest) * kOdd;
    all_tokens += tokens_of(member);
  }
  std::map<std::string, double> norms;
  for (const auto& [member, reduced] : sum.reduced()) {
    const double share = all_tokens > 0 ? tokens_of(member) / all_tokens : 0;
    for (const TensorNorm& norm : reduced.norms) norms[norm.name] += share > 0 ? share * norm.squared_norm : 0;
  }
  vote.norms.clear();
  for (const auto& [tensor, squared_norm] : norms) vote.norms.push_back({tensor, squared_norm});
}

[[nodiscard]] CollectiveOffers offers_in(const std::map<Incarnation, Manifest>& manifests) {
  CollectiveOffers offers;
  for (const auto& [member, manifest] : manifests) offers[member] = manifest.collective;
  return offers;
}

}  // namespace

SyncGroupCore::SyncGroupCore(SyncGroupConfig config)
    : config_(std::move(config)),
      sum_(make_agreement(config_)),
      patience_(config_.reduce_timeout, config_.reduce_floor) {
  ENSURE(config_.self.value != 0 && config_.microbatches > 0, "a sync group has an incarnation and a plan");
}

void SyncGroupCore::begin_at(const View& past) {
  ENSURE(view_.position() == JournalPosition{}, "what the journal said so far comes before its entries");
  view_ = past;
}

SyncGroupEffects SyncGroupCore::follow(const JournalEntry& entry, Instant now) {
  const JournalPosition change_before = view_.members().last_change_of(config_.stage);
  view_.apply(entry);
  const bool was_appointed = std::exchange(is_appointed_, view_.members().group_of(config_.stage) == config_.self);
  if (was_appointed && !is_appointed_) {
    begin_step();
    note(compose("another group or branch took over: ", describe(entry)));
  }
  if (!is_appointed_) return take_effects();
  if (!was_appointed) {
    begin_step();
    epoch_ = Epoch{config_.self, 0};
    hints_.moved(now);
    open(now, "appointed");  // P-21
    return take_effects();
  }
  if (std::holds_alternative<Commit>(entry.body)) {
    begin_step();
    hints_.begin_next(now);
  }
  if (view_.members().last_change_of(config_.stage) != change_before) {
    if (std::holds_alternative<RemoveReplica>(entry.body)) {  // its microbatches are sent again first (P-12)
      hints_.forget_all_answered();
      hints_.ignore_all_answered_until(now + first_interval());
    }
    const auto is_member = [this](Incarnation replica) { return view_.stage_of(replica) == config_.stage; };
    survey_.keep_members(is_member);
    choice_.keep_members(is_member);
    missing_.leave_out(view_.quarantined());
    if (order_) begin_anew(now, what_changed(entry));
  }
  prepare_if_due(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const Progress& progress, Instant now) {
  const OrderId& order = progress.order;
  if (view_.stage_of(progress.member) != config_.stage) return take_effects();  // it says nothing of this stage (S-6)
  if (order.branch != view_.branch() || order.stage != config_.stage || order.step < step()) return take_effects();
  if (order.step.value > step().value + 1) return take_effects();
  const bool is_of_this_step = order.step == step();
  const bool has_more = hints_.hear(progress, is_of_this_step ? StepHints::Of::kThisStep : StepHints::Of::kNextStep);
  const bool is_the_end = !progress.failure.empty() && phase() == Phase::kReducing && order == sum_.order();
  if (is_the_end && choice_.is_collective()) {
    sum_came_to_nothing(now, {RunEventKind::kSumFailed,
                              compose("step ", step(), ": replica ", progress.member, ": ", progress.failure)});
  } else if (is_of_this_step) {
    if (!progress.failure.empty()) choice_.hear_lack(progress.member, progress.failure);
    const bool moves_the_sum = sum_.hear(progress, now);
    if (has_more || moves_the_sum) hints_.moved(now);
    sum_.obeyed(progress.member, order.epoch);
    if (phase() == Phase::kOpen && missing_.awaits_zero() && sum_.unanswered().empty()) ask_for_missing(now);
  }
  prepare_if_due(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const AllAnswered& hint, Instant now) {
  if (hint.branch != view_.branch()) return take_effects();
  if (hint.step == step()) hints_.hear_all_answered(StepHints::Of::kThisStep);
  if (hint.step.value == step().value + 1) hints_.hear_all_answered(StepHints::Of::kNextStep);
  prepare_if_due(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const Manifest& manifest, Instant now) {
  if (!sum_.hear(manifest)) return take_effects();
  survey_.hear(manifest, config_.microbatches);
  hints_.count(manifest.member, epoch_, static_cast<std::uint32_t>(manifest.entries.size()));
  if (sum_.unanswered().empty()) decide(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const Reduced& reduced, Instant now) {
  if (!sum_.hear(reduced, now)) return take_effects();
  hints_.moved(now);
  if (sum_.unanswered().empty()) conclude(now);
  return take_effects();
}

SyncGroupEffects SyncGroupCore::hear(const AskHolders& question, Instant now) {
  if (!is_appointed_ || question.branch != view_.branch() || question.step != step()) return take_effects();
  survey_.ask();
  if (phase() == Phase::kOpen && !members().empty()) begin_survey(now);
  // A group that has its manifests, or nobody to ask for them, says what it knows.
  if (phase() != Phase::kPreparing) tell_holders();
  return take_effects();
}

void SyncGroupCore::begin_survey(Instant now) {
  survey_.begin();
  prepare(now);
}

void SyncGroupCore::tell_holders() {
  auto answer = survey_.take_answer(config_.stage, view_.branch(), step());
  if (answer) effects_.letters.push_back({kSpawnerProcess, to_data_loader(), std::move(*answer)});
}

SyncGroupEffects SyncGroupCore::tick(Instant now) {
  sum_.look(now);
  if (!is_appointed_ || members().empty() || view_.is_finished()) return take_effects();
  if (const auto failure = sum_.overdue(now)) sum_came_to_nothing(now, *failure);
  prepare_if_due(now);
  repeat(now);
  return take_effects();
}

bool SyncGroupCore::hints_cover_plan(Instant now) const {
  const std::uint64_t planned = config_.microbatches - view_.quarantined().size();
  if (hints_.cover(planned, members(), last_zero_, now)) return true;
  // Work had begun and no more of it was heard of for long: hints may have been lost, so look.
  const bool has_begun = order_ || hints_.has_counts();
  return has_begun && hints_.quiet_for(now) >= sum_.doubled(config_.probe_after);
}

void SyncGroupCore::begin_step() {
  sum_ = make_agreement(config_);
  last_zero_ = Epoch{};
  hints_.clear();
  survey_ = {};
  missing_ = {};
  order_.reset();
}

void SyncGroupCore::begin_epoch(Instant now) {
  ++epoch_.counter;
  const OrderId order{config_.run, view_.branch(), config_.term, config_.stage, step(), epoch_, {}};
  sum_.begin(order, view_.position(), members(), now);
  missing_.await_nothing();
}

void SyncGroupCore::open(Instant now, const std::string& why) {
  begin_epoch(now);
  survey_.end();
  note(compose("opens step ", step(), " as epoch ", epoch_, ": ", why));
  give_order(Open{sum_.order()});
}

// P-20. A data loader that still waits is answered by those who are members now (P-14a), who are not let go meanwhile:
// each would have to end another piece of work first.
void SyncGroupCore::begin_anew(Instant now, const std::string& why) {
  if (!survey_.is_asked() || members().empty()) {
    open(now, why);
    return tell_holders();
  }
  note(compose("asks anew who holds what of step ", step(), ": ", why));
  begin_survey(now);
}

// Begins another try after one in vain: it is given longer.
void SyncGroupCore::begin_another_try(Instant now) {
  sum_.tried_in_vain();
  hints_.moved(now);
}

void SyncGroupCore::try_again(Instant now, const std::string& why) {
  begin_another_try(now);
  open(now, why);
}

void SyncGroupCore::zero(Instant now) {
  begin_another_try(now);
  begin_epoch(now);
  last_zero_ = epoch_;
  survey_.forget_holders();
  hints_.forget_counts();
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
  const bool was_survey = survey_.end();
  if (verdict.is_exactly_once()) {
    reduce(now, verdict.token_count);
    return tell_holders();
  }
  const bool is_gap = verdict.twice.empty() && verdict.unknown.empty();
  if (was_survey && is_gap) {
    open(now, "it is known who holds what");
    tell_holders();
    if (!missing_.microbatches().empty())
      ask_again(now, verdict.missing);  // what was asked for is not on its way for certain
    return;
  }
  hints_.forget_all_answered();
  if (!is_gap) {
    const auto& named = verdict.twice.empty() ? verdict.unknown : verdict.twice;
    announce(verdict.twice.empty() ? RunEventKind::kMicrobatchUnknown : RunEventKind::kMicrobatchTwice,
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
  announce(RunEventKind::kMicrobatchMissing,
           compose("step ", step(), ": microbatch ", list_microbatches(verdict.missing),
                   " is in no manifest; it is asked for again"));
  try_again(now, "a gap in the manifests");
  tell_holders();
  ask_again(now, verdict.missing);
}

// A new communicator takes as long as it takes: sums that went well are no measure of it.
void SyncGroupCore::reduce(Instant now, std::uint64_t token_count) {
  missing_.forget();
  hints_.moved(now);
  const SumChoice chosen = choice_.choose(sum_.order().epoch, offers_in(sum_.manifests()), now);
  const bool is_news = !chosen.reason.empty() && chosen.reason != chosen_because_;
  if (is_news) announce(RunEventKind::kSumsChosen, chosen_because_ = chosen.reason);
  const Duration measured = patience_.timeout();
  sum_.reduce(now, choice_.is_new() ? std::max(measured, choice_.patience(config_.reduce_timeout)) : measured);
  give_order(Reduce{sum_.order(), sum_.receivers(), token_count, chosen.communicator});
}

void SyncGroupCore::sum_came_to_nothing(Instant now, const SumFailure& failure) {
  choice_.came_to_nothing(now, sum_.age());
  announce(failure.kind, failure.why);
  try_again(now, failure.why);
}

// P-19: every member holds a whole sum.
void SyncGroupCore::conclude(Instant now) {
  patience_.took(sum_.age());
  const auto failure = sum_.conclude(now);
  if (failure) return sum_came_to_nothing(now, {failure->kind, compose("step ", step(), ": ", failure->why)});
  choice_.came_whole();
  vote();
}

void SyncGroupCore::vote() {
  Prepared vote = sum_.vote();
  for (const auto& [member, manifest] : sum_.manifests()) vote.manifests.push_back({member, manifest.entries});
  vote.norms = sum_.reduced().begin()->second.norms;
  if (config_.keeps_sums_apart) join_sums(sum_, vote);
  effects_.letters.push_back({kSpawnerProcess, to_supervisor(), std::move(vote)});
}

Duration SyncGroupCore::first_interval() const {
  return std::min(sum_.doubled(config_.repeat_after), config_.ask_again_within);
}

// P-17, repeated until the next complete manifests.
void SyncGroupCore::ask_again(Instant now, std::vector<MicrobatchId> microbatches) {
  const Duration interval = first_interval();
  missing_.begin(std::move(microbatches), interval);
  hints_.ignore_all_answered_until(now + interval);
  if (last_zero_ != epoch_) return ask_for_missing(now);
  missing_.await_zero(now + config_.zero_within);
}

void SyncGroupCore::ask_for_missing(Instant now) {
  missing_.asked(now);
  const auto question_to = [this](Incarnation upstream) {
    return Missing{sum_.order(), upstream, missing_.microbatches()};
  };
  if (config_.stage.value == 0) {
    effects_.letters.push_back({kSpawnerProcess, to_data_loader(), question_to(Incarnation{})});
    return;
  }
  for (const ReplicaMember& upstream : view_.replicas_of(StageId{config_.stage.value - 1})) {
    send_to_replica(upstream.incarnation, question_to(upstream.incarnation));
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
  if (phase() == Phase::kOpen && missing_.is_due(now)) {
    missing_.lengthen();
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

void SyncGroupCore::announce(RunEventKind kind, const std::string& reason) {
  note(reason);
  const std::string group = compose("sync_group/", config_.stage);
  effects_.letters.push_back({kSpawnerProcess, to_metrics(), RunEvent{kind, group, reason, step().value}});
}

SyncGroupEffects SyncGroupCore::take_effects() { return std::exchange(effects_, {}); }

std::string SyncGroupCore::explain() const {
  const std::string step_text = compose("step ", step(), ": ");
  if (!is_appointed_) return "not appointed";
  switch (phase()) {
    case Phase::kOpen:
      if (missing_.microbatches().empty()) return step_text + "computing";
      return step_text + "waiting for " + list_microbatches(missing_.microbatches());
    case Phase::kPreparing: return step_text + "waiting for the manifests of " + list_members(sum_.unanswered());
    case Phase::kReducing: return step_text + "waiting for the sums of " + list_members(sum_.unanswered());
    case Phase::kVoted: return step_text + "waiting for the other stages";
  }
  return {};
}

}  // namespace shoal
