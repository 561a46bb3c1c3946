// The journal alone says who is a member, where, and what is committed; a shard's own words are compared with it.
#include "runtime/storage/shard_admission.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::uint64_t kHeldOverhead = 1024;  // bytes: many small ones have a bound, too

std::uint64_t memory_of_shard(const SaveShard& shard) { return kHeldOverhead + shard.image.byte_count(); }

StateUnavailable not_taken(const SaveShard& shard, const std::string& why) {
  return {shard.replica, shard.step, compose("storage does not take the shard of stage ", shard.stage, ": ", why), {}};
}

}  // namespace

void ShardAdmission::begin_life() {
  view_ = View();
  stages_ = 0;
  former_.clear();
}

ShardAdmission::Decisions ShardAdmission::begin_at(const View& past) {
  begin_life();
  view_ = past;
  stages_ = past.stage_count();
  return judge_again();
}

ShardAdmission::Decisions ShardAdmission::follow(const JournalEntry& entry) {
  std::visit([&](const auto& body) { change(entry, body); }, entry.body);
  view_.apply(entry);
  return judge_again();
}

// A branch, or a run that goes on with the state of its newest commit, begins without members and may have another cut.
void ShardAdmission::change(const JournalEntry& entry, const AddReplica& added) {
  if (entry.branch > view_.branch()) former_.clear();
  if (entry.branch > view_.branch() || view_.replica_count() == 0) stages_ = 0;
  stages_ = std::max(stages_, added.stage.value + 1);
}

// A shard of it may be on its way.
void ShardAdmission::change(const JournalEntry& /*entry*/, const RemoveReplica& removed) {
  const auto member = view_.find(removed.replica);
  if (!member) return;
  if (kFormerMax.is_reached_by(former_.size())) former_.erase(former_.begin());
  former_.emplace(removed.replica, Home{removed.stage, member->process});
}

std::optional<ShardAdmission::Home> ShardAdmission::home_of(Incarnation replica) const {
  if (const auto member = view_.find(replica)) return Home{*view_.stage_of(replica), member->process};
  const auto former = former_.find(replica);
  return former == former_.end() ? std::nullopt : std::optional(former->second);
}

// A first piece may be ahead of the journal, where its replica is unknown. A further one was asked for when the replica
// was known: it was forgotten since, and whoever sends may be anybody.
ShardAdmission::Verdict ShardAdmission::judge(const SaveShard& shard) const {
  const auto home = home_of(shard.replica);
  if (home && home->process != shard.process) return {Answer::kDrop, {}};
  if (shard.offset > 0) return {home ? Answer::kTake : Answer::kDrop, {}};
  return judge_first(shard, home);
}

ShardAdmission::Verdict ShardAdmission::judge_first(const SaveShard& shard, const std::optional<Home>& home) const {
  if (shard.branch < view_.branch()) {
    return {Answer::kRefuse, compose("it is of branch ", shard.branch, ", which branch ", view_.branch(), " followed")};
  }
  if (shard.branch > view_.branch() || shard.step > view_.committed_steps()) {
    return {Answer::kHold,
            compose("no commit that is known here leads to step ", shard.step, " of branch ", shard.branch,
                    "; the newest leads to step ", view_.committed_steps(), " of branch ", view_.branch())};
  }
  if (!home) return {Answer::kHold, compose("replica ", shard.replica, " serves no stage")};
  if (home->stage == shard.stage && shard.stages == stages_) return {};
  return {Answer::kRefuse, compose("it is of ", shard.stages, " stages, and replica ", shard.replica, " serves stage ",
                                   home->stage, " of ", stages_)};
}

ShardAdmission::Decisions ShardAdmission::offer(const SaveShard& shard, Instant now) {
  Decisions decisions;
  const Verdict verdict = judge(shard);
  if (verdict.answer == Answer::kHold) {
    hold(shard, decisions, now);
  } else {
    decide(shard, verdict, decisions);
  }
  return decisions;
}

void ShardAdmission::decide(SaveShard shard, const Verdict& verdict, Decisions& decisions) {
  switch (verdict.answer) {
    case Answer::kTake: decisions.taken.push_back(std::move(shard)); break;
    case Answer::kRefuse: decisions.refused.push_back(not_taken(shard, verdict.reason)); break;
    case Answer::kDrop: decisions.dropped.push_back({shard.step, shard.replica, shard.process}); break;
    case Answer::kHold: break;  // it waits
  }
}

// One that comes again waits as long as the first would have.
void ShardAdmission::hold(const SaveShard& shard, Decisions& decisions, Instant now) {
  const Key key(shard.branch, shard.step, shard.stage, shard.replica, shard.process);
  const auto [held, is_new] = held_.try_emplace(key, Held{shard, now});
  if (!is_new) held_bytes_ -= memory_of_shard(std::exchange(held->second.shard, shard));
  held_bytes_ += memory_of_shard(shard);
  while (kHeldBytesMax.is_exceeded_by(held_bytes_)) {
    const auto unknown =
        std::ranges::find_if(held_, [&](const auto& one) { return !home_of(std::get<Incarnation>(one.first)); });
    auto last = unknown == held_.end() ? std::prev(unknown) : unknown;
    const SaveShard refused = take(last);
    decisions.refused.push_back(not_taken(refused, judge(refused).reason));
  }
}

SaveShard ShardAdmission::take(AllHeld::iterator& at) {
  held_bytes_ -= memory_of_shard(at->second.shard);
  SaveShard shard = std::move(at->second.shard);
  at = held_.erase(at);
  return shard;
}

ShardAdmission::Decisions ShardAdmission::judge_again() {
  Decisions decisions;
  for (auto at = held_.begin(); at != held_.end();) {
    const Verdict verdict = judge(at->second.shard);
    if (verdict.answer == Answer::kHold) {
      ++at;
      continue;
    }
    decide(take(at), verdict, decisions);
  }
  return decisions;
}

ShardAdmission::Decisions ShardAdmission::give_up(Instant now) {
  Decisions decisions;
  for (auto at = held_.begin(); at != held_.end();) {
    if (now - at->second.since < kPatience) {
      ++at;
      continue;
    }
    const SaveShard shard = take(at);
    decisions.refused.push_back(not_taken(shard, judge(shard).reason));
  }
  return decisions;
}

}  // namespace shoal
