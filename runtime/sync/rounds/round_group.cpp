// The rounds of one stage, each a small state machine; what is open follows from the journal and the schedule.
#include "runtime/sync/rounds/round_group.h"

#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/sync/patience.h"
#include "runtime/sync/sync_group_verdict.h"

namespace shoal {

namespace {

[[nodiscard]] std::string name_of(const RoundId& id) {
  return compose("round ", id.number, " of fragment ", id.fragment);
}

}  // namespace

RoundGroupCore::RoundGroupCore(RoundGroupConfig config) : config_(std::move(config)), schedule_(config_.sync) {
  ENSURE(config_.self.value != 0, "a sync group has an incarnation");
}

void RoundGroupCore::begin_at(const View& past) {
  ENSURE(view_.position() == JournalPosition{}, "what the journal said so far comes before its entries");
  view_ = past;
}

SyncGroupEffects RoundGroupCore::follow(const JournalEntry& entry, Instant now) {
  const JournalPosition change_before = view_.members().last_change_of(config_.stage);
  view_.apply(entry);
  const bool was_appointed = std::exchange(is_appointed_, view_.members().group_of(config_.stage) == config_.self);
  if (!is_appointed_ || view_.is_finished()) {
    rounds_.clear();
    return take_effects();
  }
  if (!was_appointed) {
    epoch_ = Epoch{config_.self, 0};
    rounds_.clear();
    take_up("appointed", now);
    return take_effects();
  }
  if (const auto* agreed = std::get_if<CommitRound>(&entry.body); agreed != nullptr && agreed->stage == config_.stage) {
    rounds_.erase(agreed->round);
    tell_who_missed(*agreed);
  }
  if (view_.members().last_change_of(config_.stage) != change_before) {
    for (auto& [id, round] : rounds_) announce(id, round, what_changed(entry), now);  // P-20
  }
  if (std::holds_alternative<Commit>(entry.body)) take_up("contributions are due", now);
  return take_effects();
}

// Rounds whose contributions were taken after the steps committed so far or before, and that are not agreed yet.
void RoundGroupCore::take_up(const std::string& why, Instant now) {
  const std::uint64_t version = view_.committed_steps();
  auto open = schedule_.in_flight_after(version);
  const auto due = schedule_.due_at(version);
  open.insert(open.end(), due.begin(), due.end());
  for (const RoundId& id : open) {
    if (id.number == 0 || rounds_.contains(id)) continue;
    const StepId contributed{schedule_.contribution_version(id)};
    if (view_.rounds().has(config_.stage, id, contributed, schedule_.due_version(id))) continue;
    Round round{contributed, SumAgreement({"mean", config_.repeat_after, false, config_.look_max}), std::nullopt};
    announce(id, rounds_.emplace(id, std::move(round)).first->second, why, now);
  }
}

// Counts the members that bring something to the mean.
bool RoundGroupCore::has_quorum(const Round& round) const {
  const auto count =
      std::ranges::count_if(round.sum.manifests(), [](const auto& m) { return m.second.share_tokens > 0; });
  return config_.sync.quorum > 0 && count >= config_.sync.quorum;
}

void RoundGroupCore::try_again(const RoundId& id, Round& round, const SumFailure& failure, Instant now) {
  tell(failure.kind, id, failure.why);
  round.sum.tried_in_vain();
  announce(id, round, failure.why, now);
}

void RoundGroupCore::announce(const RoundId& id, Round& round, const std::string& why, Instant now) {
  ++epoch_.counter;
  const OrderId order{config_.run, view_.branch(), config_.term, config_.stage, round.step, epoch_, id};
  round.sum.begin(order, view_.position(), members(), now);
  round.quorum_since.reset();
  effects_.reasons.push_back(compose("announces ", name_of(id), " as epoch ", epoch_, ": ", why));
  ask_if_due(round, now);
}

void RoundGroupCore::ask_if_due(Round& round, Instant now) {
  if (round.sum.phase() != Phase::kOpen || round.sum.is_paused(now)) return;
  round.sum.ask(now);
  give(round);
}

SyncGroupEffects RoundGroupCore::hear(const Manifest& manifest, Instant now) {
  Round* round = find(manifest.order.round);
  if (round != nullptr && round->sum.hear(manifest)) reduce_if_due(manifest.order.round, *round, now);
  return take_effects();
}

void RoundGroupCore::reduce_if_due(const RoundId& id, Round& round, Instant now) {
  if (round.sum.phase() != Phase::kPreparing || round.sum.manifests().empty()) return;
  time_.look(now);
  if (!round.quorum_since && has_quorum(round)) round.quorum_since = time_.watched();
  const std::chrono::duration<double> grace(config_.sync.grace_s);
  const bool is_over =
      round.quorum_since && time_.watched() - *round.quorum_since >= std::chrono::duration_cast<Duration>(grace);
  if (!round.sum.unanswered().empty() && !is_over) return;
  const SumPatience unmeasured(config_.reduce_timeout, config_.reduce_timeout);
  round.sum.reduce(now, patience_.try_emplace(id.fragment, unmeasured).first->second.timeout());
  give(round);
}

SyncGroupEffects RoundGroupCore::hear(const Reduced& reduced, Instant now) {
  Round* round = find(reduced.order.round);
  if (round != nullptr && round->sum.hear(reduced, now) && round->sum.unanswered().empty()) {
    conclude(reduced.order.round, *round, now);
  }
  return take_effects();
}

SyncGroupEffects RoundGroupCore::hear(const Progress& progress, Instant now) {
  Round* round = find(progress.order.round);
  if (round != nullptr) (void)round->sum.hear(progress, now);
  return take_effects();
}

// P-19: everybody in the sum holds the whole of it.
void RoundGroupCore::conclude(const RoundId& id, Round& round, Instant now) {
  patience_.at(id.fragment).took(round.sum.age());
  if (const auto failure = round.sum.conclude(now)) return try_again(id, round, *failure, now);
  give(round);
}

SyncGroupEffects RoundGroupCore::tick(Instant now) {
  time_.look(now);
  for (auto& [id, round] : rounds_) round.sum.look(now);
  if (!is_appointed_ || members().empty()) return take_effects();
  for (auto& [id, round] : rounds_) {
    if (const auto failure = round.sum.overdue(now)) try_again(id, round, *failure, now);
    ask_if_due(round, now);
    reduce_if_due(id, round, now);
    if (round.sum.repeats(now)) give(round);
  }
  return take_effects();
}

// The order in force, or the vote.
void RoundGroupCore::give(const Round& round) {
  const SumAgreement& sum = round.sum;
  std::uint64_t tokens = 0;
  for (const auto& [member, manifest] : sum.manifests()) tokens += manifest.share_tokens;
  switch (sum.phase()) {
    case Phase::kOpen: return;
    case Phase::kPreparing:
      for (const Incarnation member : sum.receivers()) send_to(member, Prepare{sum.order(), {}});
      return;
    case Phase::kReducing:
      for (const Incarnation member : sum.receivers()) send_to(member, Reduce{sum.order(), sum.receivers(), tokens});
      return;
    case Phase::kVoted: {
      Prepared vote = sum.vote();
      for (const auto& [member, manifest] : sum.manifests()) vote.shares.push_back({member, manifest.share_tokens});
      effects_.letters.push_back({kSpawnerProcess, to_supervisor(), std::move(vote)});
      return;
    }
  }
}

RoundGroupCore::Round* RoundGroupCore::find(const RoundId& id) {
  const auto found = rounds_.find(id);
  return found == rounds_.end() ? nullptr : &found->second;
}

void RoundGroupCore::send_to(Incarnation member, MessageBody body) {
  const auto known = view_.find(member);
  if (known) effects_.letters.push_back({kSpawnerProcess, to_stage(known->process, member), std::move(body)});
}

void RoundGroupCore::tell(RunEventKind kind, const RoundId& id, const std::string& why) {
  RunEvent told{kind, compose("sync_group/", config_.stage), compose(name_of(id), ": ", why), view_.committed_steps()};
  effects_.letters.push_back({kSpawnerProcess, to_metrics(), std::move(told)});
}

// They take its mean over from who has it, and stay members; their tokens are lost.
void RoundGroupCore::tell_who_missed(const CommitRound& entry) {
  std::set<Incarnation> absent;
  for (const ReplicaMember& member : members()) absent.insert(member.incarnation);
  for (const RoundShare& share : entry.shares) absent.erase(share.member);
  if (!absent.empty())
    tell(RunEventKind::kRoundClosed, entry.round, compose("without ", list_members(absent), ", too late for it"));
}

SyncGroupEffects RoundGroupCore::take_effects() { return std::exchange(effects_, {}); }

std::string RoundGroupCore::explain() const {
  if (rounds_.empty()) return {};
  const auto& [id, round] = *rounds_.begin();
  const std::size_t unanswered = round.sum.unanswered().size();
  switch (round.sum.phase()) {
    case Phase::kOpen:
    case Phase::kPreparing:
      return compose(name_of(id), ": waiting for the contributions of ", counted(unanswered, "replica"));
    case Phase::kReducing: return compose(name_of(id), ": waiting for the means of ", counted(unanswered, "replica"));
    case Phase::kVoted: return compose(name_of(id), ": agreed, not due yet");
  }
  return {};
}

}  // namespace shoal
