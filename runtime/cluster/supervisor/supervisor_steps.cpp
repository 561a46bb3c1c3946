// Votes, commits, checkpoints, and the end of a run.
#include "runtime/cluster/supervisor/supervisor.h"

#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {

namespace {

constexpr int kDiverged = exit_code(Error::kDiverged);

}  // namespace

SupervisorEffects SupervisorCore::hear(const Prepared& vote, Instant now) {
  if (phase_ != Phase::kTraining || vote.order.stage.value >= config_.stages) return take_effects();
  if (const auto why = ballots_.hear(vote, view())) {
    note(compose("refuses a vote of stage ", vote.order.stage, " (stale_vote): ", *why));
    return take_effects();
  }
  if (vote.order.round.number != 0) commit_rounds();
  return conclude(now);
}

// How a message ends that may have ended what the next commit waits for.
SupervisorEffects SupervisorCore::conclude(Instant now) {
  commit_if_possible(now);
  return take_effects();
}

CommitDecision SupervisorCore::next_commit() const {
  CommitQuestion question;
  question.lacking_for_quorum = lacking_for_quorum();
  question.without_vote = ballots_.stages_without(view());
  question.open_rounds = open_rounds();
  question.is_joiner_late = may_join() && joins_.holds_commit(outside_rounds());
  question.leaver = roster_.last_that_leaves(joins_.joiners());
  question.is_saving = checkpoints_.version_under_way() == view().committed_steps();
  question.without_progress = outside_rounds() - std::max(step_begun_, checkpoints_.moved_at().value_or(Instant{}));
  question.save_within = config_.save_within;
  return decide_commit(question);
}

CheckpointsKept SupervisorCore::checkpoints_kept() const {
  return {checkpoints_.saved_version(), config_.newest_is_replaced, static_cast<bool>(config_.rounds_due)};
}

// By itself: a vote is judged by the view as it is, not by what is being appended.
void SupervisorCore::commit_if_possible(Instant now) {
  if (phase_ != Phase::kTraining || last_step_.is_committed()) return;
  const bool is_appending = std::any_of(effects_.begin(), effects_.end(), [](const SupervisorEffect& effect) {
    return std::holds_alternative<AppendEntry>(effect);
  });
  if (is_appending) return;
  const CommitDecision decision = next_commit();
  if (decision.waits == std::vector{CommitWait::kQuorum}) (void)let_leavers_go(now);
  if (!decision.is_now()) return;
  Commit commit = ballots_.commit(view(), config_.policy);
  const std::uint64_t version = view().committed_steps() + 1;
  const bool is_due = config_.checkpoint_every != 0 && version % config_.checkpoint_every == 0;
  const auto diverged = divergence_in(commit, view().skips_in_a_row(), checkpoints_kept());
  if (diverged && diverged->is_saved) last_step_.stop({diverged->reason, "failed", kDiverged});
  commit.is_last = last_step_.is_at(version);
  const bool is_wanted = is_due || checkpoints_.is_owed() || roster_.last_that_leaves(joins_.joiners());
  auto why_not = checkpoints_.why_not_now(has_storage());
  if (is_of_no_use(commit)) why_not = "the perplexity of its state is not finite; saved when one is";
  if (commit.is_last || (is_wanted && !why_not)) {
    commit.checkpoint_by = roster_.savers(config_.stages);
  } else if (is_wanted && checkpoints_.owe()) {
    announce("checkpoint_delayed", compose("step_", version), *why_not);
  }
  const StepTimer::Taken taken = step_timer_.committed(now);
  commit.step_ms = taken.ms;
  commit.is_partly_timed = taken.is_part;
  append(std::move(commit));
}

void SupervisorCore::begin_step(Instant now) {
  step_since_ = now;
  step_begun_ = outside_rounds();
  evaluation_ = ProgressWatch(outside_rounds());
}

void SupervisorCore::after_commit(const Commit& commit, Instant now) {
  ballots_.forget_step();
  fallback_.stepped();
  poison_.committed(commit.step);
  begin_step(now);
  last_step_.committed(commit.is_last);
  if (!commit.checkpoint_by.empty()) {
    const auto rank = commit.is_last ? CheckpointOrder::Rank::kLast : CheckpointOrder::Rank::kOneOfMany;
    checkpoints_.order(view().committed_steps(), commit.checkpoint_by, rank, outside_rounds());
  }
  if (commit.skip) {
    announce("step_skipped", commit.skip->tensor,
             compose("not finite or out of range in microbatch ", commit.skip->microbatch));
    const auto diverged = divergence_in(commit, view().skips_in_a_row() - 1, checkpoints_kept());
    if (diverged && !diverged->is_saved) return finish(kDiverged, diverged->reason, "failed", now);
  }
  // Where somebody missed a round, whoever leaves may be the only one with its mean: it goes before, and those left
  // vote for the round anew (P-20).
  const bool leave_now = !last_step_.is_committed() && ballots_.is_round_missed(view()) && let_leavers_go(now);
  if (!leave_now) commit_rounds();
  settle_loss(now);
  if (!last_step_.is_committed()) (void)let_leavers_go(now);
  conclude_if_done(now);
}

SupervisorEffects SupervisorCore::hear(const CheckpointSaved& saved, Instant now) {
  if (saved.branch != branches_.current() || !checkpoints_.is_news(saved.step)) return take_effects();
  checkpoints_.saved(saved.step, saved.weights_sha256);
  effects_.push_back(Letter{kSpawnerProcess, to_metrics(),
                            RunEvent{"checkpoint", compose("step_", saved.step),
                                     compose(saved.byte_count, " bytes in ", saved.seconds, " s"), saved.step}});
  let_saved_leavers_go(now);
  settle_loss(now);
  conclude_if_done(now);
  return conclude(now);
}

SupervisorEffects SupervisorCore::hear(const CheckpointFailed& failed, Instant now) {
  if (failed.branch != branches_.current() || !checkpoints_.is_news(failed.step)) return take_effects();
  const bool is_last = last_step_.is_committed() && failed.step == view().committed_steps();
  announce("checkpoint_failed", compose("step_", failed.step),
           failed.reason + (is_last ? "" : "; the next one is tried"));
  checkpoints_.failed(failed.step);
  if (is_last) last_checkpoint_failed(failed.reason, now);
  settle_loss(now);
  return conclude(now);
}

SupervisorEffects SupervisorCore::hear(const StateProgress& progress, Instant /*now*/) {
  if (progress.branch != branches_.current() || progress.stage.value >= config_.stages) return take_effects();
  if (progress.is_shard) {
    checkpoints_.progress(progress, outside_rounds());
  } else {
    joins_.arriving(progress.replica, progress.bytes, outside_rounds());
    starting_.arriving(progress.replica, progress.bytes, watched());
  }
  return take_effects();
}

SupervisorEffects SupervisorCore::hear(const StateUnavailable& lost, Instant /*now*/) {
  checkpoints_.shard_lost(lost, outside_rounds());
  return take_effects();
}

// What was lost on its way is asked for again: of the next commit, or of whoever still holds that state.
void SupervisorCore::tend_checkpoint(Instant now) {
  const auto version = checkpoints_.version_under_way();
  if (phase_ != Phase::kTraining || !version) return;
  const CheckpointPatience patience{config_.save_within, 5 * config_.save_within};
  const auto decision = checkpoints_.decide(has_storage(), patience, outside_rounds());
  const std::string name = compose("step_", *version);
  switch (decision.action) {
    case CheckpointOrder::Action::kWait: return;
    case CheckpointOrder::Action::kGiveUp: return last_checkpoint_failed(decision.reason, now);
    case CheckpointOrder::Action::kCarry:
      return announce("checkpoint_repeated", name, decision.reason + "; the next commit saves");
    case CheckpointOrder::Action::kAskAgain: break;
  }
  const std::vector<Incarnation> holders = roster_.savers(config_.stages);
  for (std::uint32_t stage = 0; stage < holders.size(); ++stage) {
    if (checkpoints_.is_at_storage(StageId{stage})) continue;
    const Incarnation replica = holders[stage];
    send(to_stage(view().process_of(replica), replica),
         SaveState{branches_.current(), *version, StageId{stage}, replica});
  }
  checkpoints_.asked(holders);
  announce("checkpoint_repeated", name, decision.reason + "; whoever still has it is asked to save it");
}

void SupervisorCore::last_checkpoint_failed(const std::string& reason, Instant now) {
  const bool has_failed = last_step_.has_failed();
  finish(has_failed ? last_step_.stopped()->exit_status : 3,
         compose(has_failed ? last_step_.stopped()->reason + ", but " : "", "the last checkpoint (step ",
                 view().committed_steps(), ") could not be saved: ", reason, "; the newest one is of step ",
                 checkpoints_.saved_version(), "; ", config_.resume_hint),
         "failed", now);
}

SupervisorEffects SupervisorCore::hear(const EvaluationResult& result, Instant now) {
  if (result.branch == branches_.current()) {
    if (result.complete) last_step_.evaluated(result.step);
    const bool is_on_its_way = !result.complete && result.step == view().committed_steps();
    if (is_on_its_way) (void)evaluation_.seen(result.token_count, outside_rounds());
  }
  conclude_if_done(now);
  return take_effects();
}

SupervisorEffects SupervisorCore::stop(const std::string& reason, int exit_status, Instant now) {
  if (phase_ >= Phase::kEnding || last_step_.has_failed()) return take_effects();  // it saves, and ends anyway
  last_step_.stop({reason, "stopped", exit_status});
  announce("stopping", "run", reason);
  if (phase_ == Phase::kTraining) {
    commit_if_possible(now);  // it may have waited for somebody
    conclude_if_done(now);
  } else if (phase_ != Phase::kReturning) {  // then what the members hold is saved first
    finish(exit_status, reason, "stopped", now);
  }
  return take_effects();
}

void SupervisorCore::conclude_if_done(Instant now) {
  if (phase_ != Phase::kTraining) return;
  switch (last_step_.awaits(checkpoints_.has(view().committed_steps()))) {
    case RunAwaits::kSteps: return;
    case RunAwaits::kCheckpoint:
      if (checkpoints_.version_under_way()) return;
      return checkpoints_.order_late(view().committed_steps(), roster_.savers(config_.stages), outside_rounds());
    case RunAwaits::kEvaluation:
      if (evaluation_.silence(outside_rounds()) < config_.evaluate_within) return;
      announce("evaluation_given_up", "data_loader", "no more of the last evaluation came for long");
      break;
    case RunAwaits::kNothing: break;
  }
  if (const auto& stop = last_step_.stopped()) return finish(stop->exit_status, stop->reason, stop->event, now);
  const std::uint64_t steps = view().committed_steps();
  finish(0, compose("all ", counted(steps, "step"), " ", is_or_are(steps), " committed"), "finished", now);
}

// All stages go back together, but not before what could still be saved is.
void SupervisorCore::settle_loss(Instant now) {
  if (!fallback_.lost() || phase_ != Phase::kTraining) return;
  const auto can_vote = [this](StageId stage) { return roster_.is_served(stage); };
  const bool can_commit = !last_step_.is_committed() && std::ranges::all_of(ballots_.stages_without(view()), can_vote);
  if (fallback_.is_due(can_commit || checkpoints_.version_under_way(), now)) roll_back(*fallback_.lost(), now);
}

void SupervisorCore::finish(int exit_status, const std::string& reason, const std::string& event, Instant now) {
  if (phase_ >= Phase::kEnding) return;
  if (phase_ == Phase::kTraining) append(FinishRun{reason});
  tell_end(exit_status, reason, event, now);
}

void SupervisorCore::tell_end(int exit_status, const std::string& reason, const std::string& event, Instant now) {
  const bool is_good = event != "failed";
  // Thrown back and not trained since, it ends where it would have gone on from.
  const std::uint64_t saved = phase_ == Phase::kRollingBack ? checkpoints_.saved_version() : 0;
  const std::uint64_t steps =
      phase_ < Phase::kTraining ? std::max(config_.start.version, saved) : view().committed_steps();
  const std::string subject = is_good ? checkpoints_.saved_sha256() : "run";
  note(compose(event, " ", subject, ": ", reason));
  send(to_metrics(), RunEvent{event, subject, reason, steps});
  phase_ = Phase::kEnding;
  phase_since_ = now;
  dismissal_.begin(EndRun{exit_status, reason, false, is_good ? 0U : static_cast<std::uint32_t>(exit_status)}, now);
  dismiss(ProcessRole::kNode);
}

void SupervisorCore::dismiss(ProcessRole role) {
  const EndRun& end = dismissal_.end();
  for (const ProcessIncarnation process : roster_.processes.alive(role)) {
    send(to_node_agent(process), EndProcess{end.reason, dismissal_.status_of(role), role == ProcessRole::kNode});
  }
}

void SupervisorCore::end_if_left(Instant now) {
  if (phase_ != Phase::kEnding) return;
  const auto& processes = roster_.processes;
  const auto decision =
      dismissal_.decide({!processes.alive(ProcessRole::kNode).empty(), !processes.alive().empty()}, now);
  if (decision.goes_storage) dismiss(ProcessRole::kStorage);
  if (!decision.is_over) return;
  phase_ = Phase::kOver;
  effects_.push_back(dismissal_.end());
}

}  // namespace shoal
