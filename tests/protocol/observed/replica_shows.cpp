// Visible events: entries of the journal, jobs, accumulations, sums.
#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/compose.h"
#include "tests/protocol/observed/replica_rules.h"

namespace shoal::observed {
namespace {

Objection object(std::string rule, std::string text) { return {std::move(rule), std::move(text)}; }

Objection past_its_end() { return object("P-24", "goes on behind an entry that ends it"); }

std::string words(std::uint32_t microbatch, std::uint64_t version) {
  return compose("microbatch ", microbatch, " of step ", version);
}

// P-23, P-24.
void follow_commit(const Setting& setting, ReplicaState& state, const TracedEntry& entry) {
  if (!state.is_member) return;
  const auto part = entry.stages.find(setting.stage);
  const bool names_its_epoch = part == entry.stages.end() || part->second.epoch == state.sum.epoch;
  const bool holds_sum = state.sum.phase == Phase::kReduced && names_its_epoch;
  const bool may_apply = entry.step.value == state.version && (entry.is_skipped || holds_sum);
  (may_apply ? state.owed.is_applying : state.owed.is_end) = true;
}

void follow_quarantine(ReplicaState& state, const TracedEntry& entry) {
  if (entry.step.value != state.version) return;
  const Microbatches withdrawn = Microbatches::of(entry.microbatch.value);
  if (!(state.ledger.answered & withdrawn).empty()) return;
  state.ledger.in_flight -= withdrawn;
  state.ledger.computed -= withdrawn;
  state.ledger.arrived -= withdrawn;
}

void finish_step(const Setting& setting, ReplicaState& state) {
  ++state.version;
  state.ledger = {};
  const Epoch epoch = state.sum.epoch;
  state.sum = {};
  state.sum.epoch = epoch;
  state.sum.emptied = epoch;
  readmit_waiting(setting, state);
}

}  // namespace

std::optional<Objection> follow(const Setting& setting, ReplicaState& state, const TracedEntry& entry) {
  if (state.owed.is_end) return past_its_end();
  const bool is_first = state.position.value == 0 && !state.is_member;
  if (entry.position.value != state.position.value + 1 && !is_first) {
    return object("P-3", compose("reads entry ", entry.position, " behind entry ", state.position));
  }
  state.position = entry.position;
  state.term = std::max(state.term, entry.term);
  const bool is_own = Incarnation{entry.subject} == setting.self;
  if (entry.kind == EntryKind::kAdd && is_own) {
    state.is_member = true;
    state.version = entry.step.value;
  }
  if (entry.kind == EntryKind::kRemove && is_own) state.owed.is_end = true;
  if (entry.kind == EntryKind::kQuarantine) follow_quarantine(state, entry);
  if (entry.kind == EntryKind::kCommit && entry.branch == setting.branch) follow_commit(setting, state, entry);
  if (!state.owed.is_applying && state.is_member) readmit_waiting(setting, state);
  return std::nullopt;
}

std::optional<Objection> begin_job(ReplicaState& state, std::string_view word, std::uint32_t microbatch) {
  const Microbatches bit = Microbatches::of(microbatch);
  const LedgerState& ledger = state.ledger;
  if (state.owed.is_end) return past_its_end();
  state.owed.is_working = true;
  const bool is_apply = word == "apply";
  if (is_apply != state.owed.is_applying && (is_apply || (word != "image" && word != "piece"))) {
    return object("P-23", is_apply ? "applies without a commit that names its sum" : "works on before its apply");
  }
  if (word == "apply_round" && !state.owed.is_at_boundary) {
    return object("P-32", "applies the mean of a round in the middle of a step");
  }
  if (word == "adopt") {
    const bool is_whole = state.sum.has_reduce && state.sum.phase == Phase::kFrozen;
    if (!is_whole) return object("P-18", "adopts a sum without the Reduce of the Prepare in force");
    if (state.sum.needs_parts && state.sum.parts == 0)
      return object("P-18a", "adopts a sum without a part of another member");
  }
  const bool is_work_of_step = word == "forward" || word == "loss";
  if (is_work_of_step && state.owed.is_at_boundary) {
    return object("P-32", "begins the next step before the means that are due are applied");
  }
  const bool is_pass = word == "forward" || word == "loss" || word == "backward";
  if (is_pass && (state.sum.phase != Phase::kOpen || !state.is_member)) {
    return object("P-8", compose("computes ", words(microbatch, state.version), " while it is not open"));
  }
  if (is_pass && (ledger.in_flight & bit).empty()) {
    return object("P-6", compose("computes ", words(microbatch, state.version), ", which is not in flight here"));
  }
  if (word == "forward" && !(ledger.computed & bit).empty()) {
    return object("P-6", compose("computes ", words(microbatch, state.version), " a second time"));
  }
  if (word == "backward" && (ledger.computed & ledger.arrived & bit).empty()) {
    return object("P-7", compose("uses an answer for ", words(microbatch, state.version), " that it cannot have"));
  }
  return std::nullopt;
}

std::optional<Objection> end_job(const Setting& setting, ReplicaState& state, std::string_view word,
                                 std::uint32_t microbatch) {
  const Microbatches bit = Microbatches::of(microbatch);
  LedgerState& ledger = state.ledger;
  if (!state.owed.is_working) return object("P-16a", "ends a job that did not begin");
  state.owed.is_working = false;
  if (word == "forward") ledger.computed |= bit;
  if (word == "loss" || word == "backward") {
    ledger.in_flight -= bit;
    ledger.computed -= bit;
    ledger.arrived -= bit;
    ledger.answered |= bit;
    ledger.owed |= bit;
  }
  if (word == "adopt") state.sum.phase = Phase::kReduced;
  if (word == "apply") {
    state.owed.is_applying = false;
    state.owed.is_at_boundary = setting.has_rounds;
    if (!setting.has_rounds) finish_step(setting, state);
  }
  if (word == "apply_round") state.owed.has_updated = true;
  return std::nullopt;
}

// A round of one member that has trained nothing is the mean of nobody's tokens: nothing is applied. It is so where
// whoever it shared its stage with had every microbatch, and died.
bool are_of_nobody(const Setting& setting, const ReplicaState& state, const std::vector<DueRound>& due) {
  return !state.has_trained && std::ranges::all_of(due, [&](const DueRound& round) {
    const auto shares = setting.shares->find(round.position);
    return shares != setting.shares->end() && shares->second == std::set<Incarnation>{setting.self};
  });
}

bool may_leave_boundary(const Setting& setting, const ReplicaState& state) {
  if (!state.owed.is_at_boundary) return false;
  const auto& due = setting.journal->due_behind(setting.branch, StepId{state.version}, setting.stage);
  const bool has_read = due.empty() || due.back().position <= state.position;
  return has_read && (due.empty() || state.owed.has_updated || are_of_nobody(setting, state, due));
}

void leave_boundary(const Setting& setting, ReplicaState& state) {
  const bool was_due = !setting.journal->due_behind(setting.branch, StepId{state.version}, setting.stage).empty();
  if (was_due) state.has_trained = false;
  state.owed.is_at_boundary = state.owed.has_updated = false;
  finish_step(setting, state);
}

std::optional<Objection> accumulate(ReplicaState& state, StepId step, std::uint32_t microbatch) {
  const std::string what = words(microbatch, step.value);
  if (step.value != state.version) return object("P-5", compose("accumulates ", what, " at version ", state.version));
  if (state.sum.phase != Phase::kOpen) return object("P-8", compose("accumulates ", what, " while it is frozen"));
  if ((state.ledger.owed & Microbatches::of(microbatch)).empty()) {
    return object("P-7", compose("accumulates ", what, ", which it has not just computed, or has accumulated before"));
  }
  state.ledger.owed -= Microbatches::of(microbatch);
  state.has_trained = true;
  return std::nullopt;
}

std::optional<Objection> hold_sum(ReplicaState& state, const Epoch& epoch) {
  if (state.sum.phase != Phase::kReduced || state.sum.epoch != epoch) {
    return object("P-15", compose("holds a sum of epoch ", epoch, ", the order in force is ", state.sum.epoch));
  }
  return std::nullopt;
}

}  // namespace shoal::observed
