// Measures, decides at a period or after a loss, and follows the mover until it serves or cannot.
#include "runtime/cluster/duties/moves/rebalancing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/duration_words.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/truth/stage_balance.h"

namespace shoal {

namespace {

constexpr double kMsPerSecond = 1000;
constexpr double kGainWorthAMove = 0.5;  // of what the mover computes, however often machines go

[[nodiscard]] double seconds(Duration time) { return milliseconds(time) / kMsPerSecond; }

// Its place in the stage that it moves to; nothing: it does not serve there.
[[nodiscard]] std::optional<ReplicaId> place_of(const Mover& mover, const View& view) {
  const auto members = view.replicas_of(mover.to);
  const auto found = std::ranges::find(members, mover.process, &ReplicaMember::process);
  return found == members.end() ? std::nullopt : std::optional(found->slot);
}

// The number of the keeper of the worker that is there under that name; nothing: none is.
[[nodiscard]] std::optional<std::uint32_t> keeper_here(const ProcessDirectory& processes, const std::string& name) {
  for (const ProcessIncarnation process : processes.alive(ProcessRole::kNode)) {
    if (processes.name_of(process) == name) return keeper_of(processes.find(process)->join);
  }
  return std::nullopt;
}

// Work that is lost for good has to come back until the next machine goes, as if it were so many times as much; but a
// stage that gains half a replica does not wait for quieter times.
[[nodiscard]] RebalanceRule in_churn(RebalanceRule rule, double between_s) {
  if (between_s >= rule.horizon_s) return rule;
  const double most_s = std::max(rule.lost_work_s, kGainWorthAMove * rule.horizon_s);
  rule.lost_work_s = std::min(rule.lost_work_s * rule.horizon_s / between_s, most_s);
  return rule;
}

// To one digit: a reason is told again when it is another, not whenever a rate has changed a little.
[[nodiscard]] double to_one_digit(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)));
  return std::round(value / unit) * unit;
}

}  // namespace

Answers RebalanceDuty::on(const MeasuredWork& work, Instant /*now*/) {
  const auto stage = truth_.view().stage_of(work.replica);
  if (!stage) return {};
  speeds_.hear(truth_.view().members().process_of(work.replica), load_of(truth_, *stage), work);
  is_measured_ = true;
  return {};
}

Answers RebalanceDuty::on(const TrainingBegins& begins, Instant now) {
  served_since_.clear();
  losses_.clear();
  is_measured_ = false;
  began_ = now;
  began_at_step_ = begins.version;
  if (!std::exchange(has_begun_, true)) lost_machines_.begin(seconds(now - Instant{}));
  next_ = now + truth_.config.rebalance_every.value_or(Duration{});
  return {};
}

Answers RebalanceDuty::on(const BranchBegins& /*begins*/, Instant /*now*/) {
  mover_.reset();
  capacities_.clear();
  return {};
}

// Its process may be back in a moment: then nothing is lost.
Answers RebalanceDuty::on(const MemberLost& lost, Instant now) {
  const auto stage = truth_.view().stage_of(lost.replica);
  const auto before = stage ? capacities_.find(*stage) : capacities_.end();
  if (truth_.config.rebalance_every && before != capacities_.end()) {
    losses_.try_emplace(*stage, Loss{before->second, now + kReturnGrace});
  }
  return {};
}

Answers RebalanceDuty::on(const ProcessGone& gone, Instant now) {
  Answers answers;
  if (gone.role == ProcessRole::kNode) note_gone(gone, now);
  speeds_.forget(gone.process);
  if (mover_ && mover_->process == gone.process) give_up("its process is gone", answers);
  return answers;
}

Answers RebalanceDuty::on(const LeaversDue& /*due*/, Instant /*now*/) {
  Answers answers;
  if (truth_.may_mover_go()) {
    answers.tell(MoverGoes{mover_->replica, mover_->from, compose("it moves to stage ", mover_->to)});
  }
  return answers;
}

Answers RebalanceDuty::on(const TickCame& /*tick*/, Instant now) {
  Answers answers;
  if (!truth_.config.rebalance_every) return answers;
  note_lost_machines(now);
  if (!truth_.is_training()) return answers;
  note_members(now);
  note_leavers(now);
  const auto moving = mover_;
  if (mover_) follow_mover(now, answers);
  const bool is_given_up = moving && !mover_ && !place_of(*moving, truth_.view());
  if (is_given_up) next_ = std::max(next_, now + *truth_.config.rebalance_every);
  auto stages = stage_balance(truth_);
  const bool is_urgent = !mover_ && is_urgent_now(stages, now);  // a loss is looked at when nobody moves any more
  for (std::uint32_t i = 0; i < stages.size(); ++i) capacities_[StageId{i}] = capacity_of(stages[i]);
  const bool is_due = is_measured_ && (is_urgent || now >= next_);
  if (is_due && !mover_ && truth_.may_join()) decide(std::move(stages), is_urgent, now, answers);
  return answers;
}

// Those that are there at the first look began with the training.
void RebalanceDuty::note_members(Instant now) {
  const View& view = truth_.view();
  const Instant since = served_since_.empty() ? began_ : now;
  std::erase_if(served_since_, [&](const auto& one) { return !view.contains(one.first); });
  for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
    for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
      served_since_.try_emplace(member.incarnation, since);
    }
  }
}

// One that went before, and was back since the last look, is judged first.
void RebalanceDuty::note_gone(const ProcessGone& gone, Instant now) {
  const ProcessRecord* const record = truth_.roster.processes.find(gone.process);
  const GoneWorker worker{record == nullptr ? 0 : keeper_of(record->join), now};
  const auto [known, is_first] = maybe_lost_.try_emplace(gone.name, worker);
  if (is_first) return;
  if (!known->second.is_it_again(worker.keeper, now)) lost_machines_.lost(seconds(now - Instant{}));
  known->second = worker;
}

void RebalanceDuty::note_lost_machines(Instant now) {
  std::erase_if(maybe_lost_, [&](const auto& one) {
    const auto& [name, gone] = one;
    const auto keeper = keeper_here(truth_.roster.processes, name);
    if (!keeper && now - gone.since < kStartGrace) return false;
    if (!keeper || !gone.is_it_again(*keeper, now)) lost_machines_.lost(seconds(now - Instant{}));
    return true;
  });
}

// Looks at once for another in the place of one that leaves: the last of a stage waits for it.
void RebalanceDuty::note_leavers(Instant now) {
  const auto leaving = truth_.roster.leavers.all();
  std::erase_if(leavers_, [&](ProcessIncarnation process) { return !leaving.contains(process); });
  for (const auto& [process, reason] : leaving) {
    if (!leavers_.insert(process).second) continue;
    for (const StageId stage : truth_.roster.stages_of(process)) {
      const auto before = capacities_.find(stage);
      if (before != capacities_.end()) losses_.try_emplace(stage, Loss{before->second, now});
    }
  }
}

bool RebalanceDuty::is_urgent_now(const std::vector<StageLoad>& stages, Instant now) {
  bool is_any = false;
  std::erase_if(losses_, [&](const auto& one) {
    const auto& [stage, loss] = one;
    if (now < loss.look_at) return false;
    is_any = is_any || is_urgent(stages[stage.value], loss.capacity_before, truth_.config.rebalance);
    return true;
  });
  return is_any;
}

// Counts as cost the time that the last move took, and the rest of a step, for which nothing more is planned on the
// mover; with rounds, what it trained since the last one. What it gains lasts until the end of the run at most.
// Controls of experiments: without a least gain nobody rests, and with an infinite horizon no cost counts.
RebalanceRule RebalanceDuty::rule_for(bool is_urgent, Instant now) const {
  const SupervisorConfig& config = truth_.config;
  RebalanceRule rule = config.rebalance;
  const std::uint64_t committed = truth_.view().committed_steps();
  const auto steps = static_cast<double>(std::max<std::uint64_t>(committed - std::min(began_at_step_, committed), 1));
  const double step_s = seconds(now - began_) / steps;
  const double steps_at_stake = config.rounds ? static_cast<double>(config.rounds->window_max()) : 1;
  const std::uint64_t left = config.steps_target - std::min(committed, config.steps_target);
  if (move_took_) rule.warm_up_s = seconds(*move_took_);
  rule.lost_work_s = steps_at_stake * step_s;
  if (!std::isinf(rule.horizon_s)) rule.horizon_s = std::min(rule.horizon_s, static_cast<double>(left) * step_s);
  rule.rest_s = is_urgent || rule.least_gain == 0 ? 0 : std::max(rule.rest_s, seconds(*config.rebalance_every));
  return rule;
}

// Names the losses of machines where they alone are why nobody moves.
RebalanceDecision RebalanceDuty::decision_on(const BalanceQuestion& question, bool is_urgent, Instant now) const {
  const RebalanceRule rule = rule_for(is_urgent, now);
  const double between_s = lost_machines_.between_s(seconds(now - Instant{}));
  RebalanceDecision decision = decide_move(question, in_churn(rule, between_s));
  const bool is_for_losses = !decision.move && between_s < rule.horizon_s && decide_move(question, rule).move;
  if (is_for_losses) {
    decision.reason = compose("a move would lose work that its gain does not pay for before another machine goes, and ",
                              "one goes about every ", number_text(to_one_digit(between_s), 0), " s");
  }
  return decision;
}

void RebalanceDuty::decide(std::vector<StageLoad> stages, bool is_urgent, Instant now, Answers& answers) {
  next_ = now + *truth_.config.rebalance_every;
  for (StageLoad& stage : stages) {
    for (BalancedReplica& replica : stage.replicas) {
      const auto since = served_since_.find(replica.replica);
      replica.is_on_its_way = since == served_since_.end();
      if (!replica.is_on_its_way) replica.served_s = seconds(now - since->second);
    }
  }
  const auto decision = decision_on({std::move(stages), {}, false}, is_urgent, now);
  if (decision.move) {
    begin(*decision.move, decision.reason, now, answers);
  } else if (std::exchange(why_not_, decision.reason) != decision.reason) {
    answers.note("nobody moves: " + decision.reason);
  }
}

void RebalanceDuty::begin(const StageMove& move, const std::string& reason, Instant now, Answers& answers) {
  const auto member = truth_.view().find(move.replica);
  const std::uint32_t limit = truth_.config.replicas_max;
  if (!member || !move.from) return;
  if (limit > 0 && truth_.view().replicas_of(move.to).size() >= limit) return;
  why_not_.clear();
  mover_ = Mover{move.replica, member->process, *move.from, move.to, now};
  answers.announce(RunEventKind::kMoving, compose("stage/", *move.from, "/", member->slot),
                   compose("on ", truth_.roster.processes.name_of(member->process), ": ", reason));
  answers.perform(AvoidReplicas{truth_.roster.leaving()});
}

void RebalanceDuty::follow_mover(Instant now, Answers& answers) {
  if (truth_.view().contains(mover_->replica)) {
    if (!truth_.can_mover_leave()) give_up("its stage needs it", answers);
    return;
  }
  if (!mover_->left_at) mover_->left_at = now;
  if (const auto slot = place_of(*mover_, truth_.view())) {
    move_took_ = now - mover_->since;
    answers.announce(RunEventKind::kMoved, compose("stage/", mover_->to, "/", *slot),
                     compose("from stage ", mover_->from, ", on ", truth_.roster.processes.name_of(mover_->process),
                             ", ", duration_text(*move_took_), " after it was decided"));
    return mover_.reset();
  }
  const auto is_it = [&](const Joiner& joiner) { return joiner.process == mover_->process; };
  const bool is_joining = std::ranges::any_of(truth_.joins.joiners(), is_it);
  if (is_joining) mover_->is_joining = true;
  const bool is_over = mover_->is_joining ? !is_joining : now - *mover_->left_at >= kPlaceWithin;
  // An entry that is asked for may be its AddReplica: then it is no joiner any more, and in the view a moment later.
  if (is_over && !truth_.history.is_entry_asked()) give_up("it could not join the other stage", answers);
}

void RebalanceDuty::give_up(const std::string& why, Answers& answers) {
  const bool is_member = truth_.view().contains(mover_->replica);
  answers.announce(RunEventKind::kMoveGivenUp, truth_.roster.processes.name_of(mover_->process),
                   compose("from stage ", mover_->from, " to stage ", mover_->to, ": ", why));
  mover_.reset();
  if (is_member) answers.perform(AvoidReplicas{truth_.roster.leaving()});
}

}  // namespace shoal
