// The order of things between two steps stands in on(Commit).
#include "runtime/cluster/duties/steps.h"

#include <utility>

#include "runtime/base/compose.h"
#include "runtime/cluster/truth/commit_question.h"
#include "runtime/journal/divergence.h"

namespace shoal {

namespace {

constexpr int kDiverged = exit_code(Error::kDiverged);

[[nodiscard]] CheckpointsKept checkpoints_kept(const Truth& truth) {
  return {truth.checkpoints.saved_version(), truth.config.newest_is_replaced, truth.config.rounds.has_value()};
}

}  // namespace

Answers StepDuty::on(const TermBegins& /*begins*/, Instant now) {
  const bool is_under_way = truth_.view().position().value > 0 && !truth_.view().is_finished();
  if (is_under_way && truth_.config.return_within > Duration::zero()) timer_.taken_over(now);
  return {};
}

Answers StepDuty::on(const Prepared& vote, Instant /*now*/) {
  Answers answers;
  if (!truth_.is_training() || vote.order.stage.value >= truth_.config.stages) return answers;
  if (const auto why = ballots_.hear(vote, truth_.view())) {
    answers.note(compose("refuses a vote of stage ", vote.order.stage, " (stale_vote): ", *why));
    return answers;
  }
  if (vote.order.round.number != 0) answers.tell(RoundsDue{});
  answers.tell(CommitDue{});
  return answers;
}

Answers StepDuty::on(const Commit& commit, Instant /*now*/) {
  Answers answers;
  ballots_.forget_step();
  if (commit.skip) {
    answers.announce(RunEventKind::kStepSkipped, commit.skip->tensor,
                     compose("not finite or out of range in microbatch ", commit.skip->microbatch));
    const auto diverged = divergence_in(commit, truth_.view().skips_in_a_row() - 1, checkpoints_kept(truth_));
    if (diverged && !diverged->is_saved) {
      answers.tell(EndOfRun{kDiverged, diverged->reason, RunEventKind::kFailed});
      return answers;
    }
  }
  // After a missed round, a leaver may be the only one with its mean: it goes before, and those left
  // vote for the round anew (P-20).
  const bool is_last = truth_.ending.last_step.is_committed();
  const bool may_anybody_go = truth_.may_giver_go() || !truth_.leavers_not_missed().empty() || truth_.may_mover_go();
  const bool leave_now = !is_last && ballots_.is_round_missed(truth_.view()) && may_anybody_go;
  answers.tell(leave_now ? RunFact(LeaversDue{}) : RunFact(RoundsDue{}));
  answers.tell(LossDue{});
  if (!is_last) answers.tell(LeaversDue{});
  answers.tell(EndDue{});
  return answers;
}

Answers StepDuty::on(const CommitRound& /*committed*/, Instant now) { return on(CommitDue{}, now); }

Answers StepDuty::on(const TrainingBegins& /*begins*/, Instant now) {
  timer_.ready(now);
  return {};
}

Answers StepDuty::on(const BranchBegins& /*begins*/, Instant /*now*/) {
  ballots_.forget_step();
  timer_.begun_again();
  return {};
}

Answers StepDuty::on(const StepForgotten& /*forgotten*/, Instant /*now*/) {
  ballots_.forget_step();
  return {};
}

Answers StepDuty::on(const StageReady& /*ready*/, Instant now) { return on(CommitDue{}, now); }

Answers StepDuty::on(const StageEnded& /*ended*/, Instant now) { return on(CommitDue{}, now); }

Answers StepDuty::on(const TickCame& /*tick*/, Instant now) { return on(CommitDue{}, now); }

Answers StepDuty::on(const CommitDue& /*due*/, Instant now) {
  Answers answers;
  if (!truth_.is_training() || truth_.ending.last_step.is_committed() || truth_.history.is_entry_asked())
    return answers;
  const CommitDecision decision = next_commit(truth_);
  if (decision.waits == std::vector{CommitWait::kQuorum}) answers.tell(LeaversDue{});
  if (decision.is_now()) commit(now, answers);
  return answers;
}

void StepDuty::commit(Instant now, Answers& answers) {
  Commit commit = ballots_.commit(truth_.view(), truth_.config.policy);
  const std::uint64_t version = truth_.view().committed_steps() + 1;
  const auto diverged = divergence_in(commit, truth_.view().skips_in_a_row(), checkpoints_kept(truth_));
  const bool ends_saved = diverged && diverged->is_saved;
  if (ends_saved) answers.tell(EndsAfterStep{{diverged->reason, RunEventKind::kFailed, kDiverged}});
  commit.is_last = ends_saved || truth_.ending.last_step.is_at(version);
  choose_savers(commit, version, answers);
  const StepTimer::Taken taken = timer_.committed(now);
  commit.step_ms = taken.ms;
  commit.is_partly_timed = taken.is_part;
  answers.append(std::move(commit));
}

void StepDuty::choose_savers(Commit& commit, std::uint64_t version, Answers& answers) const {
  const std::uint64_t every = truth_.config.checkpoint_every;
  const bool is_due = every != 0 && version % every == 0;
  const bool is_wanted = is_due || truth_.checkpoints.is_owed() || truth_.last_that_leaves();
  auto why_not = truth_.checkpoints.why_not_now(truth_.has_storage());
  if (is_of_no_use(commit)) why_not = "the perplexity of its state is not finite; saved when one is";
  if (commit.is_last || (is_wanted && !why_not)) {
    commit.checkpoint_by = truth_.roster.savers(truth_.config.stages);
  } else if (is_wanted) {
    answers.tell(CheckpointDelayed{version, *why_not});
  }
}

}  // namespace shoal
