// P-3c, P-15, P-16, P-17, P-18, P-19, P-20, P-21.
#include "tests/protocol/observed/group.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal::observed {
namespace {

bool is_order(Kind kind) { return kind == Kind::kOpen || kind == Kind::kZero || kind == Kind::kPrepare; }

// Returns the microbatches that are named more than once.
Microbatches twice_in(const std::map<Incarnation, Microbatches>& manifests) {
  Microbatches seen;
  Microbatches twice;
  for (const auto& [member, microbatches] : manifests) {
    twice |= seen & microbatches;
    seen |= microbatches;
  }
  return twice;
}

Microbatches all_in(const std::map<Incarnation, Microbatches>& manifests) {
  Microbatches seen;
  for (const auto& [member, microbatches] : manifests) seen |= microbatches;
  return seen;
}

}  // namespace

OrderName Group::order() const {
  OrderName name;
  name.epoch = {self_, counter_};
  if (last_zero_ > 0) name.last_zero = {self_, last_zero_};
  name.members = static_cast<std::uint32_t>(receivers_.size());
  return name;
}

std::optional<JournalPosition> Group::vote_of(StepId step, std::uint32_t counter) const {
  const auto found = votes_.find({step, counter});
  return found == votes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Objection> Group::say(const Letter& letter, const Hearing& hearing) {
  if (const auto why_not = judge_appointment(hearing)) return why_not;
  if (letter.round) return rounds_.say(letter, stage_, hearing);
  if (const auto why_not = judge_step(letter, hearing)) return why_not;
  if (is_order(letter.kind)) {
    const bool is_repeat = letter.cause.attempt == counter_ && letter.kind == kind_;
    if (!is_repeat) {
      if (const auto why_not = begin_epoch(letter, hearing)) return why_not;
    }
    receivers_.insert(letter.subject);
    return std::nullopt;
  }
  if (letter.kind == Kind::kReduce) return reduce(letter, hearing);
  if (letter.kind == Kind::kPrepared) return vote(letter, hearing);
  const bool is_open = kind_ == Kind::kOpen || kind_ == Kind::kZero;
  if (letter.kind == Kind::kMissing && (!is_open || letter.cause.attempt != counter_)) {
    return Objection{"P-17", "asks for what is missing while it is not open"};
  }
  return std::nullopt;
}

// P-3c
std::optional<Objection> Group::judge_appointment(const Hearing& hearing) {
  for (std::uint64_t position = 1; position <= hearing.end.value && !was_appointed_; ++position) {
    const auto& groups = hearing.journal->at(JournalPosition{position}).groups;
    const auto found = groups.find(stage_);
    was_appointed_ = found != groups.end() && found->second == self_;
  }
  if (was_appointed_) return std::nullopt;
  return Objection{"P-3c", "speaks before its appointment is in the journal"};
}

// P-21: what it reads is somewhere between its own appointment and the end of the journal.
std::optional<Objection> Group::judge_step(const Letter& letter, const Hearing& hearing) {
  const Standing& now = hearing.journal->at(hearing.end);
  const Cause& cause = letter.cause;
  const bool is_on_branch = cause.branch == now.branch;
  if (is_on_branch && cause.step.value > now.committed) {
    return Objection{"P-21", compose("is at step ", cause.step, ", committed are ", now.committed)};
  }
  if (cause.step < step_) return Objection{"P-21", compose("goes back from step ", step_, " to ", cause.step)};
  return std::nullopt;
}

std::optional<Objection> Group::begin_epoch(const Letter& letter, const Hearing& hearing) {
  const Cause& cause = letter.cause;
  if (cause.attempt <= counter_) {
    return Objection{"P-15", compose("begins an order with counter ", cause.attempt, " behind ", counter_)};
  }
  if (counter_ == 0 && letter.kind != Kind::kOpen) return Objection{"P-21", "does not begin with an Open"};
  const auto vote = cause.step == step_ ? vote_of(step_, counter_) : std::nullopt;
  const auto& changed = hearing.journal->at(hearing.end).changed;
  const auto last = changed.find(stage_);
  const bool is_void = vote && last != changed.end() && last->second > *vote;
  if (vote && !is_void) return Objection{"P-19", "begins another order for a step that it has voted for"};
  if (letter.kind == Kind::kZero) {
    if (const auto why_not = zero(hearing)) return why_not;
  }
  if (cause.step != step_) last_zero_ = 0;
  if (letter.kind == Kind::kZero) last_zero_ = cause.attempt;
  if (letter.kind == Kind::kPrepare) prepared_ = cause;
  step_ = cause.step;
  counter_ = cause.attempt;
  kind_ = letter.kind;
  plan_ = hearing.plan;
  is_reducing_ = false;
  receivers_.clear();
  return std::nullopt;
}

bool Group::has_all(Kind kind, const Cause& order, const Hearing& hearing) const {
  return std::ranges::all_of(receivers_, [&](Incarnation member) { return hearing.answers->has(kind, order, member); });
}

std::optional<Objection> Group::zero(const Hearing& hearing) const {
  const bool is_known = kind_ == Kind::kPrepare && hearing.manifests.size() == receivers_.size();
  if (kind_ != Kind::kPrepare || !has_all(Kind::kManifest, prepared_, hearing)) {
    return Objection{"P-16", "empties its stage without the manifests of all members"};
  }
  const bool is_disjoint = twice_in(hearing.manifests).empty() && (all_in(hearing.manifests) - hearing.plan).empty();
  if (is_known && is_disjoint) return Objection{"P-16", "empties its stage though no microbatch is named twice"};
  return std::nullopt;
}

std::optional<Objection> Group::reduce(const Letter& letter, const Hearing& hearing) {
  if (kind_ != Kind::kPrepare || letter.cause.attempt != counter_) {
    return Objection{"P-15", "has a sum made of another order than its Prepare"};
  }
  if (!receivers_.contains(letter.subject)) return Objection{"P-18", "has a sum made by somebody it did not freeze"};
  if (!has_all(Kind::kManifest, prepared_, hearing)) {
    return Objection{"P-16", "has a sum made without the manifests of all members"};
  }
  is_reducing_ = true;
  if (hearing.manifests.size() < receivers_.size()) return std::nullopt;  // judged at the commit
  const Microbatches twice = twice_in(hearing.manifests);
  const Microbatches all = all_in(hearing.manifests);
  if (!twice.empty() || (all != hearing.plan && all != plan_)) {
    return Objection{"P-16", !twice.empty() ? "has a sum made that counts a microbatch twice"
                                            : "has a sum made that lacks a microbatch, or has one that is not planned"};
  }
  return std::nullopt;
}

// P-19, P-22: it names the position where its epoch began; no entry behind that may have changed the stage by then.
std::optional<Objection> Group::vote(const Letter& letter, const Hearing& hearing) {
  if (!is_reducing_ || letter.cause.attempt != counter_) return Objection{"P-19", "votes without a sum"};
  if (!has_all(Kind::kReduced, prepared_, hearing)) {
    return Objection{"P-19", "votes before all members hold the sum"};
  }
  for (const Incarnation member : receivers_) {
    if (!hearing.contributors.contains(member)) {
      return Objection{"P-18", compose("votes for a sum that replica ", member, " took no part in")};
    }
  }
  if (letter.cause.position > hearing.end) return Objection{"P-19", "names a position that is not written"};
  const auto members = hearing.journal->at(letter.cause.position).members_of(stage_);
  if (members != receivers_) return Objection{"P-19", "names a position with other members than it froze"};
  votes_[{step_, counter_}] = letter.cause.position;
  return std::nullopt;
}

}  // namespace shoal::observed
