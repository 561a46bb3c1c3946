// A sync group's moves (protocol §4): Prepare, a verdict about the manifests, Reduce, a vote; Open when its stage
// changes. Groups behind kStages were replaced, live on and read no more of the journal.
#include <algorithm>
#include <optional>

#include "tests/protocol/step/moves.h"

namespace shoal::protocol {
namespace {

// The manifest or the digest that a member gave for this epoch.
std::optional<Message> report_of(const State& state, Kind kind, int member, const Group& group) {
  const int step = state.commits_at(group.position);
  for (int k = 0; k < state.message_count; ++k) {
    const Message report = state.message(k);
    const bool is_asked_for = report.kind() == kind && report.from() == member && report.epoch() == group.epoch();
    if (is_asked_for && report.step() == step) return report;
  }
  return std::nullopt;
}

void say_order(State& next, int g) { next.add(*order_of(next, g)); }

}  // namespace

void Moves::group(int g) {
  const Group& group = now_.groups[g];
  if (!group.is_on || (is_calm() && g >= kStages)) return;
  if (g < kStages) group_reads(g);
  if (now_.commits_at(group.position) >= model_.scope.steps) return;
  group_prepares(g);
  group_repeats(g);
  if (g < kStages) group_is_asked(g);
  if (group.phase == kPreparing) group_decides(g);
  if (group.phase == kReducing) group_votes(g);
  group_gives_up(g);
}

// P-15. The counter is bounded to keep a search finite; a run to the end may go beyond that bound.
bool Moves::begin_epoch(State& next, int g) const {
  constexpr int kMore = 12, kMost = (1 << kCounterBits) - 1;
  Group& group = next.groups[g];
  const int most = is_calm() ? std::min(kMost, model_.scope.epochs + kMore) : model_.scope.epochs;
  if (group.counter >= most) return false;
  ++group.counter;
  group.began_at = group.position;
  return true;
}

// P-20, P-20a, P-27: a change of the stage or of its plan voids the epoch in force; whoever asked who holds what is
// answered by those who are members then (P-14a).
void Moves::group_reads(int stage) {
  const Group& group = now_.groups[stage];
  if (group.position >= now_.log_size) return;
  const Entry entry = now_.log[group.position];
  const auto is_void = [this](Entry change) {
    return change.is_removal() || (change.is_quarantine() ? rules_.quarantine_voids : rules_.add_voids);
  };
  State next = now_;
  Group& after = next.groups[stage];
  ++after.position;
  bool has_epoch = true;
  if (entry.is_commit()) {
    after.begin_step();
  } else if (entry.changes(stage) && is_void(entry) && group.phase != kSilent) {
    after.missing = byte(after.missing & model_.plan_at(now_, after.position));
    after.is_survey = byte(int{rules_.open_on_void && after.was_asked != 0});
    after.phase = !rules_.open_on_void ? kSilent : after.is_survey ? kPreparing : kOpened;
    if (rules_.open_on_void) has_epoch = begin_epoch(next, stage);
    if (rules_.open_on_void && has_epoch) say_order(next, stage);
  }
  if (has_epoch) {
    move(next,
         [&] { return "group " + std::to_string(stage) + " reads: " + (entry.is_commit() ? "commit" : told(entry)); });
  }
  if (!rules_.log_order_group && entry.is_commit() && group.phase != kSilent) group_reads_ahead(stage);
}

// Without log_order_group: a removal that stands behind a commit opens the step that is committed.
void Moves::group_reads_ahead(int stage) {
  for (int k = now_.groups[stage].position + 1; k < now_.log_size; ++k) {
    const Entry entry = now_.log[k];
    if (!entry.is_removal() || !entry.changes(stage)) continue;
    State next = now_;
    if (!begin_epoch(next, stage)) return;
    next.groups[stage].phase = kOpened;
    say_order(next, stage);
    move(next, [&] { return "group " + std::to_string(stage) + " opens for a removal behind the commit"; });
    return;
  }
}

// A sensible group waits while a member may still come to hold what is missing.
bool Moves::is_time_to_prepare(int stage) const {
  if (pace_ != Pace::kSensible) return true;
  const int members = now_.members();
  int seen = 0, twice = 0;
  for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
    if (!is_in(members, r)) continue;
    twice |= seen & now_.replicas[r].manifest();
    seen |= now_.replicas[r].manifest();
  }
  if (seen == model_.plan_at(now_, now_.groups[stage].position) && twice == 0) return true;
  for (int r = 0; r < first_of(model_.scope.stages() - 1); ++r) {
    const Replica& replica = now_.replicas[r];
    const bool is_busy = replica.ledger[0] == kInFlight || replica.ledger[1] == kInFlight;
    if (is_in(members, r) && is_busy && replica.phase == kOpen) return false;
  }
  return true;
}

// P-14: hints decide when, manifests whether. A group that has opened looks by itself when it has heard nothing for
// long; while faults come, a prepare without the loader's hint costs one.
void Moves::group_prepares(int g) {
  const Group& group = now_.groups[g];
  const int step = now_.commits_at(group.position), stage = g % kStages;
  const bool is_open = group.phase == kSilent || group.phase == kOpened || group.phase == kZeroed;
  const bool is_hinted = now_.has(all_answered(step)), is_probe = !is_hinted && is_calm() && group.phase != kSilent;
  const bool is_early = !is_hinted && !is_calm() && now_.budget[kEarly] > 0;
  if (!is_open || !is_time_to_prepare(stage) || (!is_hinted && !is_probe && !is_early)) return;
  State next = now_;
  if (!begin_epoch(next, g)) return;
  if (is_early) --next.budget[kEarly];
  next.groups[g].phase = kPreparing;
  say_order(next, g);
  move(next, [&] {
    return "group " + std::to_string(stage) + " prepares step " + std::to_string(step) +
           (is_early ? " early, " : ", ") + told_epoch(next.groups[g].epoch());
  });
}

void Moves::group_repeats(int g) {
  State next = now_;
  const auto order = order_of(now_, g);
  if (order && next.add(*order)) {
    move(next, [&] { return "group " + std::to_string(g % kStages) + " repeats its order"; });
  }
  State voting = now_;
  if (now_.groups[g].phase == kVoted && voting.add(vote_of(now_, g))) {
    move(voting, [&] { return "group " + std::to_string(g % kStages) + " repeats its vote"; });
  }
}

// P-16
void Moves::group_decides(int g) {
  const Group& group = now_.groups[g];
  const int stage = g % kStages, members = now_.members_at(group.position) & mask_of(stage);
  const int plan = model_.plan_at(now_, group.position);
  int seen = 0, twice = 0;
  for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
    if (!is_in(members, r)) continue;
    const auto report = report_of(now_, Kind::kManifest, r, group);
    if (!report) return;
    twice |= seen & report->microbatches();
    seen |= report->microbatches();
  }
  const bool has_unknown = (seen & ~plan) != 0 && rules_.manifest_check && rules_.quarantine_unknown;
  if (!rules_.manifest_check) seen = plan;
  if (!rules_.manifest_check || !rules_.zero_on_twice) twice = 0;
  const bool is_emptied = twice != 0 || has_unknown;
  if (is_emptied || (seen & plan) != plan) return group_tells_verdict(g, is_emptied ? plan : plan & ~seen, is_emptied);
  State next = now_;
  next.groups[g].phase = kReducing;
  next.groups[g].missing = next.groups[g].is_survey = 0;
  tell_holders(next, g, known_holders(g));
  say_order(next, g);
  if (!rules_.vote_after_reduced) next.add(vote_of(next, g));
  move(next,
       [&] { return "group " + std::to_string(stage) + " has all manifests, reduces " + told_epoch(group.epoch()); });
}

// P-16, P-17: Open or Zero, and a question for what is missing.
void Moves::group_tells_verdict(int g, int missing_ones, bool is_twice) {
  const int stage = g % kStages, step = now_.commits_at(now_.groups[g].position);
  const bool gives_order = is_twice || (now_.groups[g].is_survey ? rules_.survey_opens : rules_.open_on_gap);
  State next = now_;
  if (gives_order && !begin_epoch(next, g)) return;
  next.groups[g].phase = !gives_order ? kSilent : is_twice ? kZeroed : kOpened;
  if (is_twice) next.groups[g].last_zero = next.groups[g].counter;
  const bool asks_again = !now_.groups[g].is_survey || is_twice || now_.groups[g].missing != 0;
  next.groups[g].missing = byte(asks_again ? missing_ones : 0);
  next.groups[g].is_survey = 0;
  tell_holders(next, g, is_twice ? kNoHolders : known_holders(g));
  if (gives_order) say_order(next, g);
  for (int b = 0; b < model_.scope.microbatches; ++b) {
    if (asks_again && is_in(missing_ones, b)) next.add(missing(stage, step, b));
  }
  move(next, [&] {
    return "group " + std::to_string(stage) + (is_twice ? " finds a microbatch twice" : " finds a gap") +
           (!gives_order ? ", gives no order"
            : is_twice   ? ", zeroes "
                         : ", opens ") +
           told_epoch(next.groups[g].epoch());
  });
}

// P-19
void Moves::group_votes(int g) {
  const Group& group = now_.groups[g];
  const int stage = g % kStages, members = now_.members_at(group.position) & mask_of(stage);
  for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
    if (is_in(members, r) && !report_of(now_, Kind::kReduced, r, group)) return;
  }
  State next = now_;
  next.groups[g].phase = kVoted;
  next.add(vote_of(next, g));
  move(next, [&] { return "group " + std::to_string(stage) + " votes for " + told_epoch(group.epoch()); });
}

// P-19a: a sum that stands still is opened again. While faults come it costs one; in a calm run it is the last resort.
void Moves::group_gives_up(int g) {
  const Group& group = now_.groups[g];
  const bool is_under_way = group.phase == kPreparing || group.phase == kReducing;
  const bool may =
      is_calm() ? pace_ == Pace::kAnyCalm && group.phase == kReducing
                : now_.budget[kAbort] > 0 && (is_under_way || (group.phase == kVoted && !rules_.no_abort_after_vote));
  State next = now_;
  if (!may || !begin_epoch(next, g)) return;
  if (!is_calm()) --next.budget[kAbort];
  next.groups[g].phase = kOpened;
  say_order(next, g);
  move(next, [&] {
    return "group " + std::to_string(g % kStages) + " gives up, opens " + told_epoch(next.groups[g].epoch());
  });
}

void restart_group(const StepModel& model, State& next, int stage, bool as_zombie) {
  if (as_zombie) next.groups[stage + kStages] = next.groups[stage];
  Group& group = next.groups[stage];
  if (model.rules.inst_durable) ++next.incarnations[stage];  // P-4
  group.is_on = 1;
  group.incarnation = next.incarnations[stage];
  group.counter = 1;
  group.begin_step();
  group.phase = kOpened;
  group.position = next.log_size;  // P-21
  if (!model.rules.group_from_log) {
    for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
      const Replica& replica = next.replicas[r];
      const bool is_asked = replica.is_alive && is_in(next.members(), r);
      if (is_asked) group.position = std::min(group.position, replica.position);
    }
  }
  group.began_at = group.position;
  const Message question = ask_holders(stage, next.commits_at(next.loader.position));
  next.drop(question);  // it ends with the group that it was put to
  if (next.loader.is_asking && !is_in(next.loader.heard, stage)) next.add(question);
  say_order(next, stage);
}

}  // namespace shoal::protocol
