// The journal of an observed run: P-1, P-3, P-16, P-22, P-27, P-29; S-1, S-2, S-4.
#include <algorithm>

#include "runtime/base/compose.h"
#include "tests/protocol/observed/run.h"

namespace shoal::observed {
namespace {

Microbatches bits_of(const std::set<std::uint32_t>& microbatches) {
  Microbatches bits;
  for (const std::uint32_t microbatch : microbatches) bits |= Microbatches::of(microbatch);
  return bits;
}

bool is_same(const TracedEntry& one, const TracedEntry& other) {
  return one.kind == other.kind && one.branch == other.branch && one.term == other.term && one.stage == other.stage &&
         one.subject == other.subject && one.step == other.step && one.content == other.content &&
         one.process == other.process && one.is_skipped == other.is_skipped;
}

}  // namespace

// A spawner that starts records its last entries again.
std::optional<Objection> Run::append(const TracedEvent& traced) {
  const TracedEntry recorded = entry_of(traced);
  const TracedEntry& known = journal_.entries().at(recorded.position);
  if (!is_same(recorded, known)) {
    return Objection{"S-2", compose("has another entry ", recorded.position, " than others have read")};
  }
  if (recorded.position <= end_) return std::nullopt;
  if (recorded.position.value != end_.value + 1) {
    return Objection{"P-3", compose("appends entry ", recorded.position, " behind entry ", end_)};
  }
  if (const auto why_not = judge_entry(known)) return why_not;
  end_ = recorded.position;
  return std::nullopt;
}

std::optional<Objection> Run::judge_entry(const TracedEntry& entry) {
  const Standing& before = standings_.at(end_);
  const Incarnation subject{entry.subject};
  const bool is_first_of_branch = entry.branch > before.branch || before.groups.empty();
  if (entry.branch < before.branch) return Objection{"P-1", "goes back to an older branch"};
  if (entry.kind == EntryKind::kAdd) {
    if (before.members.contains(subject)) return Objection{"P-4", "adds a member a second time"};
    if (!is_first_of_branch && entry.step.value != before.committed) {
      return Objection{
          "P-27", compose("adds a replica at version ", entry.step, ", committed are ", before.committed, " steps")};
    }
  }
  if (entry.kind == EntryKind::kRemove && !before.members.contains(subject)) {
    return Objection{"P-29", "removes a replica that is no member"};
  }
  if (entry.kind == EntryKind::kRound) return judge_round(entry);
  return entry.kind == EntryKind::kCommit ? judge_commit(entry) : std::nullopt;
}

// P-22, P-32: the vote is of the group appointed last, nothing behind its position changed the stage, and the
// fragment's rounds come in order.
std::optional<Objection> Run::judge_round(const TracedEntry& entry) {
  const Standing& before = standings_.at(end_);
  const RoundId round{entry.slot.value, entry.subject};
  const auto object = [&](const char* rule, const std::string& what) {
    return Objection{rule, compose("commits round ", round.number, " of fragment ", round.fragment, ", stage ",
                                   entry.stage, ": ", what)};
  };
  if (entry.branch != before.branch || entry.step.value > before.committed) {
    return object("P-32", "its contributions are not taken yet");
  }
  const auto newest = before.rounds.find({entry.stage, round.fragment});
  if (newest != before.rounds.end() && newest->second >= round.number) return object("S-2", "it is behind a later one");
  const auto appointed = before.groups.find(entry.stage);
  const auto group = appointed == before.groups.end() ? groups_.end() : groups_.find(appointed->second);
  const RoundVote* const vote = group == groups_.end() ? nullptr : group->second.rounds().vote_of(round);
  if (vote == nullptr || vote->step != entry.step) return object("P-22", "the appointed group did not vote for it");
  const auto changed = before.changed.find(entry.stage);
  if (changed != before.changed.end() && changed->second > vote->position) {
    return object("P-22", compose("the stage changed at position ", changed->second, ", behind its vote's"));
  }
  shares_[entry.position] = vote->members;
  return std::nullopt;
}

std::optional<Objection> Run::judge_commit(const TracedEntry& entry) {
  const Standing& before = standings_.at(end_);
  if (entry.branch != before.branch || entry.step.value != before.committed) {
    return Objection{"S-2", compose("commits step ", entry.step, " behind ", before.committed, " committed steps")};
  }
  std::set<StageId> stages;
  for (const auto& [replica, member] : before.members) stages.insert(member.stage);
  for (const auto& [stage, due] : before.due) {
    const auto has_other = [&](StageId other) { return !before.due.contains(other) || before.due.at(other) != due; };
    if (std::ranges::none_of(stages, has_other)) continue;
    return Objection{"P-32",
                     compose("commits step ", entry.step, " before all stages have the rounds of stage ", stage)};
  }
  for (const StageId stage : stages) {
    const auto part = entry.stages.find(stage);
    if (part == entry.stages.end()) {
      return Objection{"P-22", compose("commits step ", entry.step, " without a vote of stage ", stage)};
    }
    if (const auto why_not = judge_part(entry, stage, part->second)) return why_not;
  }
  return std::nullopt;
}

// P-22: the vote is of the group appointed last, for this step, and nothing behind its position changed the stage.
std::optional<Objection> Run::judge_part(const TracedEntry& entry, StageId stage, const TracedStage& part) {
  const Standing& before = standings_.at(end_);
  const auto object = [&](const char* rule, const std::string& what) {
    return Objection{rule, compose("commits step ", entry.step, ": stage ", stage, " ", what)};
  };
  const auto appointed = before.groups.find(stage);
  const auto group = groups_.find(part.epoch.group);
  if (appointed == before.groups.end() || appointed->second != part.epoch.group || group == groups_.end()) {
    return object("P-22", "has the vote of a group that is not appointed");
  }
  const auto vote = group->second.vote_of(entry.step, part.epoch.counter);
  if (!vote) return object("P-22", compose("was not voted for in epoch ", part.epoch));
  const auto changed = before.changed.find(stage);
  if (changed != before.changed.end() && changed->second > *vote) {
    return object("P-22", compose("has changed at position ", changed->second, ", behind its vote's ", *vote));
  }
  return judge_shares(entry, stage, part);
}

std::optional<Objection> Run::judge_shares(const TracedEntry& entry, StageId stage, const TracedStage& part) {
  const auto object = [&](const char* rule, const std::string& what) {
    return Objection{rule, compose("commits step ", entry.step, ": stage ", stage, " ", what)};
  };
  std::set<Incarnation> members = standings_.at(end_).members_of(stage);
  Microbatches seen;
  for (const TracedShare& share : part.shares) {
    if (members.erase(share.member) == 0) return object("S-4", compose("counts replica ", share.member));
    const Microbatches own = bits_of(share.microbatches);
    if (!(seen & own).empty() || share.listed_count != share.microbatches.size()) {
      return object("S-1", "counts a microbatch twice");
    }
    seen |= own;
    const auto found = replicas_.find(share.member);
    if (found == replicas_.end())
      return object("P-16", compose("counts replica ", share.member, ", which has no trace"));
    auto& [life, replica] = found->second;
    const bool has_record = manifests_.contains({share.member, entry.step, part.epoch.counter});
    if (!has_record && is_cut(life, entry.time_ns)) continue;  // its last words
    if (auto why_not = replica.gave(entry.step, part.epoch, own)) {
      return object(why_not->rule.c_str(), compose(": replica ", share.member, " ", why_not->text));
    }
  }
  if (!members.empty()) return object("S-4", compose("lacks the manifest of its member ", *members.begin()));
  const Microbatches plan = plan_of(entry.step, end_);
  if (seen != plan) return object("S-1", "does not count every planned microbatch, or one that is not planned");
  return std::nullopt;
}

Microbatches Run::plan_of(StepId step, JournalPosition position) const {
  Microbatches plan;
  for (std::uint32_t microbatch = 0; microbatch < shape_.microbatches; ++microbatch)
    plan |= Microbatches::of(microbatch);
  for (const auto& [of_step, microbatch] : standings_.at(position).left_out) {
    if (of_step == step) plan -= Microbatches::of(microbatch);
  }
  return plan;
}

}  // namespace shoal::observed
