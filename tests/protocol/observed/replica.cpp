// Completes, filters and reports; the rules themselves are in replica_rules.h.
#include "tests/protocol/observed/replica.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal::observed {
namespace {

std::pair<StepId, std::uint32_t> name_of(const Cause& cause) { return {cause.step, cause.microbatch.value}; }

std::optional<RefusalReason> reason_of(const Letter& letter) {
  for (const RefusalReason reason : {RefusalReason::kFenced, RefusalReason::kStepCommitted, RefusalReason::kFrozen,
                                     RefusalReason::kNotMember, RefusalReason::kBusy}) {
    if (letter.reason == to_text(reason)) return reason;
  }
  return std::nullopt;  // the router's own: it knows no such replica, or holds too much
}

bool has_read_more(const ReplicaState& one, const ReplicaState& other) {
  return one.read + other.late.size() > other.read + one.late.size();
}

}  // namespace

void Replica::take(const Letter& letter) {
  rounds_.take(letter);
  if (letter.kind == Kind::kStepSum) return;
  JournalPosition read_up_to;
  for (const ReplicaState& state : states_) read_up_to = std::max(read_up_to, state.position);
  const bool names_position = letter.kind <= Kind::kRefusal;
  const bool may_be_held = names_position && letter.cause.position > read_up_to;
  (may_be_held ? held_ : prompt_).push_back({letter});
  if (!may_be_held) return;
  States waiting;
  for (ReplicaState state : states_) {
    state.late.push_back(static_cast<std::uint32_t>(held_.size() - 1));
    waiting.insert(std::move(state));
  }
  states_ = std::move(waiting);
}

void Replica::lose(std::uint64_t span) {
  for (auto* queue : {&prompt_, &held_}) {
    for (Queued& queued : *queue) queued.is_lost |= queued.letter.span == span;
  }
}

std::vector<Heard> Replica::heard_of(const ReplicaState& state, const Queued& queued) const {
  if (queued.is_lost) return {{state, Shows::kNothing}};
  return hear(setting_, state, queued.letter);
}

void Replica::hear_prompt(const ReplicaState& state, std::vector<Heard>& all) const {
  if (state.read >= prompt_.size()) return;
  for (Heard& heard : heard_of(state, prompt_[state.read])) {
    ++heard.state.read;
    all.push_back(std::move(heard));
  }
}

// Reads a letter that the router held; one with a higher position does not come before one with a lower.
void Replica::hear_late(const ReplicaState& state, std::vector<Heard>& all) const {
  std::optional<JournalPosition> lowest;
  for (std::size_t i = 0; i < state.late.size(); ++i) {
    const Queued& queued = held_[state.late[i]];
    const JournalPosition position = queued.letter.cause.position;
    const bool may_come = position <= state.position && (!lowest || position < *lowest);
    lowest = lowest ? std::min(*lowest, position) : position;
    if (!may_come) continue;
    for (Heard& heard : heard_of(state, queued)) {
      heard.state.late.erase(heard.state.late.begin() + static_cast<std::ptrdiff_t>(i));
      all.push_back(std::move(heard));
    }
  }
}

// A replica reads nothing in the middle of a job, between a commit and its apply, or behind its end.
std::vector<Heard> Replica::next_heard(const ReplicaState& state) const {
  std::vector<Heard> all;
  if (state.owed.is_working || state.owed.is_applying || state.owed.is_end) return all;
  if (is_early_order_due(state)) return hear_early_order(setting_, state);
  if (may_leave_boundary(setting_, state)) {
    Heard next{state, Shows::kNothing};
    leave_boundary(setting_, next.state);
    all.push_back(std::move(next));
  }
  hear_prompt(state, all);
  hear_late(state, all);
  return all;
}

Replica::States Replica::completed() const {
  States all = states_;
  std::vector<ReplicaState> open(states_.begin(), states_.end());
  while (!open.empty()) {
    const ReplicaState state = std::move(open.back());
    open.pop_back();
    for (Heard& heard : next_heard(state)) {
      if (heard.shows != Shows::kNothing) continue;
      const auto [place, is_new] = all.insert(std::move(heard.state));
      if (is_new) open.push_back(*place);
    }
  }
  return all;
}

std::optional<Objection> Replica::keep(const States& from, const Change& change) {
  States kept;
  std::optional<Objection> objection;
  const ReplicaState* objector = nullptr;
  for (const ReplicaState& state : from) {
    ReplicaState next = state;
    const std::optional<Objection> why_not = change(next);
    if (!why_not) {
      kept.insert(std::move(next));
    } else if (objector == nullptr || has_read_more(state, *objector)) {
      objection = why_not;
      objector = &state;
    }
  }
  if (kept.empty()) return objection;
  states_ = std::move(kept);
  return std::nullopt;
}

std::optional<Objection> Replica::keep_heard(Shows shows, const Objection& otherwise) {
  States kept;
  for (const ReplicaState& state : completed()) {
    for (Heard& heard : next_heard(state)) {
      if (heard.shows == shows) kept.insert(std::move(heard.state));
    }
  }
  if (kept.empty()) return otherwise;
  states_ = std::move(kept);
  return std::nullopt;
}

std::optional<Objection> Replica::read(const TracedEntry& entry) {
  const bool is_own = entry.kind == EntryKind::kAdd && Incarnation{entry.subject} == setting_.self;
  if (is_own) rounds_.start_at(entry.step.value);
  return keep(completed(), [&](ReplicaState& state) { return follow(setting_, state, entry); });
}

std::optional<Objection> Replica::begin(const TraceEvent& event) {
  const std::string word(event.detail_text());
  const std::uint32_t microbatch = event.cause.microbatch.value;
  jobs_[event.span] = {word, microbatch};
  std::optional<Objection> objection;
  if (word == "zero") {
    objection = keep_heard(Shows::kZeroing, {"P-16b", "empties itself without a Zero that it has missed or obeys"});
  } else if (word == "contribute") {
    objection = keep_heard(Shows::kContribution, {"P-18", "sums without a Reduce of the Prepare in force"});
  } else if (word == "apply_round") {
    return keep(completed(), [&](ReplicaState& state) {
      if (auto why_not = judge_update(state)) return why_not;
      return begin_job(state, word, microbatch);
    });
  } else {
    return keep(completed(), [&](ReplicaState& state) { return begin_job(state, word, microbatch); });
  }
  if (objection) return objection;
  return keep(States(states_), [&](ReplicaState& state) { return begin_job(state, word, microbatch); });
}

std::optional<Objection> Replica::judge_update(const ReplicaState& state) const {
  for (const DueRound& due : setting_.journal->due_behind(setting_.branch, StepId{state.version}, setting_.stage)) {
    if (due.position > state.position) {
      return Objection{"P-32", compose("applies means before it reads the round of entry ", due.position)};
    }
    const auto shares = setting_.shares->find(due.position);
    const bool is_named = shares == setting_.shares->end() || shares->second.contains(setting_.self);
    if (is_named || rounds_.has_mean(due.contributed)) continue;
    return Objection{"P-34", compose("applies means without that of entry ", due.position, ", which it missed")};
  }
  return std::nullopt;
}

std::optional<Objection> Replica::end(const TraceEvent& event) {
  const auto job = jobs_.find(event.span);
  if (job == jobs_.end()) return Objection{"P-16a", "ends a job that did not begin"};
  const auto [word, microbatch] = job->second;
  jobs_.erase(job);
  rounds_.end_job(word);
  if (word == "forward") computed_.insert(name_of(event.cause));
  if (word == "loss" || word == "backward") answered_.insert(name_of(event.cause));
  auto why_not = keep(States(states_), [&](ReplicaState& state) { return end_job(setting_, state, word, microbatch); });
  if (!why_not && word == "apply") archive();
  return why_not;
}

void Replica::archive() {
  constexpr std::uint64_t kCarried = 2;  // steps
  const auto is_old = [](const ReplicaState& state, StepId step) { return step.value + kCarried < state.version; };
  States kept;
  for (ReplicaState state : states_) {
    const auto move_old = [&](auto& said, auto& old) {
      for (const auto& one : said) {
        if (is_old(state, one.step)) old.insert(one);
      }
      std::erase_if(said, [&](const auto& one) { return is_old(state, one.step); });
    };
    move_old(state.said.manifests, old_manifests_);
    move_old(state.said.contributions, old_contributions_);
    move_old(state.said.refusals, old_refusals_);
    kept.insert(std::move(state));
  }
  states_ = std::move(kept);
}

// A letter that was turned away, or an early order that was out of date when its time came.
std::optional<Objection> Replica::drop(const TraceEvent& event) {
  States kept;
  for (const ReplicaState& state : completed()) {
    if (state.owed.is_drop) {
      ReplicaState next = state;
      next.owed.is_drop = false;
      kept.insert(std::move(next));
    }
    for (Heard& heard : next_heard(state)) {
      if (heard.shows == Shows::kDrop) kept.insert(std::move(heard.state));
    }
  }
  if (kept.empty()) {
    return Objection{"P-7", compose("turns away ", event.detail_text(), " though no letter is there that it may")};
  }
  states_ = std::move(kept);
  return std::nullopt;
}

std::optional<Objection> Replica::show(const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::kStart: return begin(event);
    case TraceKind::kEnd: return end(event);
    case TraceKind::kDrop: return drop(event);
    case TraceKind::kAccumulate:
      return keep(States(states_), [&](ReplicaState& state) {
        return accumulate(state, event.cause.step, event.cause.microbatch.value);
      });
    case TraceKind::kDigest: {
      if (event.detail_text() != "sum") return std::nullopt;
      const Epoch epoch{Incarnation{event.subject}, event.cause.attempt};
      return keep(States(states_), [&](ReplicaState& state) { return hold_sum(state, epoch); });
    }
    default: return std::nullopt;
  }
}

std::optional<Objection> Replica::say(const Letter& letter) {
  const Cause& cause = letter.cause;
  if (letter.is_evaluation) return std::nullopt;
  if (letter.round) return rounds_.say(letter);
  if (letter.kind == Kind::kForward && !computed_.contains(name_of(cause))) {
    return Objection{"P-11", "sends an activation that it has not computed"};
  }
  if (letter.kind == Kind::kBackward && !answered_.contains(name_of(cause))) {
    return Objection{"P-6", "answers what it has not answered"};
  }
  const auto keep_said = [&](const auto& has_said, const Objection& otherwise) {
    return keep(completed(), [&](ReplicaState& state) -> std::optional<Objection> {
      if (has_said(state.said)) return std::nullopt;
      if (!state.owed.is_at_boundary) return otherwise;
      return Objection{"P-32", "answers an order of the next step before the means that are due are applied"};
    });
  };
  if (letter.kind == Kind::kManifest) {
    const auto is_this = [&](const Given& given) {
      return given.step == cause.step && given.epoch.counter == cause.attempt;
    };
    if (std::ranges::any_of(old_manifests_, is_this)) return std::nullopt;
    return keep_said([&](const Said& said) { return std::ranges::any_of(said.manifests, is_this); },
                     {"P-15", "gives a manifest for an order that it has not obeyed"});
  }
  if (letter.kind == Kind::kPart || letter.kind == Kind::kReduced) {
    const auto is_this = [&](const Given& given) {
      return given.step == cause.step && given.epoch.counter == cause.attempt;
    };
    if (std::ranges::any_of(old_contributions_, is_this)) return std::nullopt;
    return keep_said([&](const Said& said) { return std::ranges::any_of(said.contributions, is_this); },
                     {"P-15", "takes part in a sum of an order that it has not obeyed"});
  }
  const auto reason = letter.kind == Kind::kRefusal ? reason_of(letter) : std::nullopt;
  if (!reason) return std::nullopt;
  const Refused refused{cause.step, cause.microbatch.value, *reason};
  if (old_refusals_.contains(refused)) return std::nullopt;
  return keep_said([&](const Said& said) { return std::ranges::find(said.refusals, refused) != said.refusals.end(); },
                   {"P-6", "refuses a Forward that it may not refuse for that reason"});
}

std::set<Microbatches> Replica::manifests_of(StepId step, const Epoch& epoch) const {
  std::set<Microbatches> found;
  for (const ReplicaState& state : states_) {
    for (const Given& given : state.said.manifests) {
      if (given.step == step && given.epoch == epoch) found.insert(given.microbatches);
    }
  }
  return found;
}

std::optional<Objection> Replica::gave(StepId step, const Epoch& epoch, Microbatches microbatches) {
  const Given wanted{step, epoch, microbatches};
  return keep(States(states_), [&](ReplicaState& state) {
    const bool has_given = std::ranges::find(state.said.manifests, wanted) != state.said.manifests.end();
    return has_given ? std::nullopt
                     : std::optional(Objection{
                           "P-8", compose("did not name in epoch ", epoch, " what the commit counts for it")});
  });
}

bool Replica::has_contributed(const Epoch& epoch) const {
  return std::ranges::any_of(states_, [&](const ReplicaState& state) {
    return std::ranges::find(state.said.contributions, epoch, &Given::epoch) != state.said.contributions.end();
  });
}

}  // namespace shoal::observed
