// The rounds of one stage, each a small state machine; what is open follows from the journal and the schedule.
#include "runtime/sync/rounds/round_group.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/compose.h"
#include "runtime/sync/patience.h"
#include "runtime/sync/sync_group_verdict.h"

namespace shoal {

namespace {

[[nodiscard]] std::string name_of(const RoundId& id) {
  return compose("round ", id.number, " of fragment ", id.fragment);
}

}  // namespace

RoundGroupCore::RoundGroupCore(RoundGroupConfig config) : config_(std::move(config)), schedule_(config_.sync) {
  CHECK(config_.self.value != 0, "a sync group has an incarnation");
}

SyncGroupEffects RoundGroupCore::follow(const JournalEntry& entry, Instant now) {
  const JournalPosition change_before = view_.last_change_of(config_.stage);
  view_.apply(entry);
  const bool was_appointed = std::exchange(is_appointed_, view_.group_of(config_.stage) == config_.self);
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
  if (view_.last_change_of(config_.stage) != change_before) {
    for (auto& [id, round] : rounds_) announce(id, round, "the stage's membership changed", now);  // P-20
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
    if (view_.has_round(config_.stage, id, contributed, schedule_.due_version(id))) continue;
    Round& round = rounds_[id];
    round.step = contributed;
    announce(id, round, why, now);
  }
}

// Of those that bring something to a mean.
bool RoundGroupCore::has_quorum(const Round& round) const {
  const auto count =
      std::count_if(round.shares.begin(), round.shares.end(), [](const auto& s) { return s.second > 0; });
  return config_.sync.quorum > 0 && count >= config_.sync.quorum;
}

void RoundGroupCore::try_again(const RoundId& id, Round& round, const std::string& why, Instant now) {
  ++round.tries;
  announce(id, round, why, now);
}

void RoundGroupCore::announce(const RoundId& id, Round& round, const std::string& why, Instant now) {
  ++epoch_.counter;
  round.phase = Phase::kAnnounced;
  round.epoch = epoch_;
  round.position = view_.position();
  round.shares.clear();
  round.reduced.clear();
  round.unanswered.clear();
  round.quorum_since.reset();
  for (const ReplicaMember& member : members()) round.unanswered.insert(member.incarnation);
  round.began = now;
  round.repeat_interval = doubled_per_try(config_.repeat_after, round.tries);
  round.repeat_at = now + round.repeat_interval;
  effects_.reasons.push_back(compose("announces ", name_of(id), " as epoch ", round.epoch, ": ", why));
  if (now >= round.not_before) return repeat(id, round);
  round.repeat_at = round.not_before;
}

SyncGroupEffects RoundGroupCore::hear(const Manifest& manifest, Instant now) {
  Round* round = find(manifest.order, Phase::kAnnounced);
  if (round == nullptr || round->unanswered.erase(manifest.member) == 0) return take_effects();
  round->shares[manifest.member] = manifest.share_tokens;
  reduce_if_due(manifest.order.round, *round, now);
  return take_effects();
}

void RoundGroupCore::reduce_if_due(const RoundId& id, Round& round, Instant now) {
  if (round.phase != Phase::kAnnounced || round.shares.empty()) return;
  if (!round.quorum_since && has_quorum(round)) round.quorum_since = now;
  const std::chrono::duration<double> grace(config_.sync.grace_s);
  const bool is_over = round.quorum_since && now - *round.quorum_since >= std::chrono::duration_cast<Duration>(grace);
  if (!round.unanswered.empty() && !is_over) return;
  round.phase = Phase::kReducing;
  round.began = now;
  round.repeat_at = now + round.repeat_interval;
  round.unanswered.clear();
  for (const auto& [member, tokens] : round.shares) round.unanswered.insert(member);
  repeat(id, round);
}

SyncGroupEffects RoundGroupCore::hear(const Reduced& reduced, Instant now) {
  Round* round = find(reduced.order, Phase::kReducing);
  if (round == nullptr || round->unanswered.erase(reduced.member) == 0) return take_effects();
  round->reduced[reduced.member] = reduced;
  if (round->unanswered.empty()) conclude(reduced.order.round, *round, now);
  return take_effects();
}

// P-19: everybody in the sum holds the whole of it.
void RoundGroupCore::conclude(const RoundId& id, Round& round, Instant now) {
  const Reduced& first = round.reduced.begin()->second;
  for (const auto& [member, reduced] : round.reduced) {
    if (reduced.digest == first.digest) continue;
    const std::string why = compose("the means of replicas ", first.member, " and ", member, " differ");
    tell("sums_differ", id, why);
    round.not_before = now + doubled_per_try(config_.repeat_after, round.tries + 1);
    return try_again(id, round, why, now);
  }
  round.vote = Prepared{order_id(id, round), round.position, first.digest, {}, {}, {}};
  for (const auto& [member, tokens] : round.shares) round.vote.shares.push_back({member, tokens});
  round.phase = Phase::kVoted;
  round.repeat_interval = config_.repeat_after;
  round.repeat_at = now + round.repeat_interval;
  repeat(id, round);
}

SyncGroupEffects RoundGroupCore::tick(Instant now) {
  if (!is_appointed_ || members().empty()) return take_effects();
  for (auto& [id, round] : rounds_) {
    if (round.phase == Phase::kReducing && now - round.began >= doubled_per_try(config_.reduce_timeout, round.tries)) {
      const std::string why = compose("no mean from ", list_members(round.unanswered), " in time");
      tell("reduce_timed_out", id, why);
      try_again(id, round, why, now);
    }
    reduce_if_due(id, round, now);
    if (now < round.repeat_at) continue;
    round.repeat_interval = next_interval(round.repeat_interval);
    round.repeat_at = now + round.repeat_interval;
    repeat(id, round);
  }
  return take_effects();
}

// The order in force, to who has not answered it (a Reduce to all of its members: who has the mean may be the one whose
// part another lacks); or the vote.
void RoundGroupCore::repeat(const RoundId& id, Round& round) {
  switch (round.phase) {
    case Phase::kAnnounced:
      for (const Incarnation member : round.unanswered) send_to(member, Prepare{order_id(id, round), {}});
      return;
    case Phase::kReducing: {
      Reduce order{order_id(id, round), {}, 0};
      for (const auto& [member, tokens] : round.shares) {
        order.members.push_back(member);
        order.token_count += tokens;
      }
      for (const Incarnation member : order.members) send_to(member, order);
      return;
    }
    case Phase::kVoted: effects_.letters.push_back({kSpawnerProcess, to_supervisor(), round.vote}); return;
  }
}

RoundGroupCore::Round* RoundGroupCore::find(const OrderId& order, Phase phase) {
  const auto found = rounds_.find(order.round);
  if (found == rounds_.end() || found->second.phase != phase) return nullptr;
  return order == order_id(order.round, found->second) ? &found->second : nullptr;
}

OrderId RoundGroupCore::order_id(const RoundId& id, const Round& round) const {
  return {config_.run, view_.branch(), config_.term, config_.stage, round.step, round.epoch, id};
}

void RoundGroupCore::send_to(Incarnation member, MessageBody body) {
  const auto known = view_.find(member);
  if (known) effects_.letters.push_back({kSpawnerProcess, to_stage(known->process, member), std::move(body)});
}

void RoundGroupCore::tell(const std::string& event, const RoundId& id, const std::string& why) {
  RunEvent told{event, compose("sync_group/", config_.stage), compose(name_of(id), ": ", why), view_.committed_steps()};
  effects_.letters.push_back({kSpawnerProcess, to_metrics(), std::move(told)});
}

// They take its mean over from who has it, and stay members; their tokens are lost.
void RoundGroupCore::tell_who_missed(const CommitRound& entry) {
  std::set<Incarnation> absent;
  for (const ReplicaMember& member : members()) absent.insert(member.incarnation);
  for (const RoundShare& share : entry.shares) absent.erase(share.member);
  if (!absent.empty())
    tell("round_closed", entry.round, compose("without ", list_members(absent), ", too late for it"));
}

SyncGroupEffects RoundGroupCore::take_effects() { return std::exchange(effects_, {}); }

std::string RoundGroupCore::explain() const {
  if (rounds_.empty()) return {};
  const auto& [id, round] = *rounds_.begin();
  switch (round.phase) {
    case Phase::kAnnounced:
      return compose(name_of(id), ": waiting for the contributions of ", round.unanswered.size(), " replicas");
    case Phase::kReducing:
      return compose(name_of(id), ": waiting for the means of ", round.unanswered.size(), " replicas");
    case Phase::kVoted: return compose(name_of(id), ": agreed, not due yet");
  }
  return {};
}

}  // namespace shoal
