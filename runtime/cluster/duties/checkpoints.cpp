// Tells the tracker what happens, and puts its decisions into letters and events.
#include "runtime/cluster/duties/checkpoints.h"

#include <cmath>

#include "runtime/base/compose.h"

namespace shoal {

Answers CheckpointDuty::on(const Commit& commit, Instant /*now*/) {
  if (commit.checkpoint_by.empty()) return {};
  const auto rank = commit.is_last ? CheckpointOrder::Rank::kLast : CheckpointOrder::Rank::kOneOfMany;
  tracker_.order(truth_.view().committed_steps(), commit.checkpoint_by, rank, truth_.clock.outside_rounds());
  return {};
}

Answers CheckpointDuty::on(const CheckpointSaved& saved, Instant /*now*/) {
  Answers answers;
  if (saved.branch != truth_.history.branch() || !tracker_.is_news(saved.step)) return answers;
  tracker_.saved(saved.step, saved.weights_sha256);
  answers.send(
      to_metrics(),
      RunEvent{RunEventKind::kCheckpoint, compose("step_", saved.step),
               compose(saved.byte_count, " bytes in ", std::round(saved.seconds * 1000) / 1000, " s"), saved.step});
  answers.tell(SavedLeaversDue{});
  answers.tell(LossDue{});
  answers.tell(EndDue{});
  answers.tell(CommitDue{});
  return answers;
}

Answers CheckpointDuty::on(const CheckpointFailed& failed, Instant /*now*/) {
  Answers answers;
  if (failed.branch != truth_.history.branch() || !tracker_.is_news(failed.step)) return answers;
  const bool is_last = truth_.ending.last_step.is_committed() && failed.step == truth_.view().committed_steps();
  answers.announce(RunEventKind::kCheckpointFailed, compose("step_", failed.step),
                   failed.reason + (is_last ? "" : "; the next one is tried"));
  tracker_.failed(failed.step);
  tracker_.note_trouble(failed.reason);
  if (is_last) answers.tell(last_one_failed(failed.reason));
  answers.tell(LossDue{});
  answers.tell(CommitDue{});
  return answers;
}

Answers CheckpointDuty::on(const StateProgress& progress, Instant /*now*/) {
  const bool is_ours = progress.branch == truth_.history.branch() && progress.stage.value < truth_.config.stages;
  if (is_ours && progress.is_shard) tracker_.progress(progress, truth_.clock.outside_rounds());
  return {};
}

Answers CheckpointDuty::on(const StateUnavailable& lost, Instant /*now*/) {
  tracker_.shard_lost(lost, truth_.clock.outside_rounds());
  return {};
}

Answers CheckpointDuty::on(const CheckpointDelayed& delayed, Instant /*now*/) {
  Answers answers;
  tracker_.note_trouble(delayed.why);
  if (tracker_.owe())
    answers.announce(RunEventKind::kCheckpointDelayed, compose("step_", delayed.version), delayed.why);
  return answers;
}

Answers CheckpointDuty::on(const CheckpointWanted& /*wanted*/, Instant /*now*/) {
  (void)tracker_.owe();
  return {};
}

Answers CheckpointDuty::on(const LastStateUnsaved& /*unsaved*/, Instant /*now*/) {
  tracker_.order_late(truth_.view().committed_steps(), truth_.roster.savers(truth_.config.stages),
                      truth_.clock.outside_rounds());
  return {};
}

Answers CheckpointDuty::on(const RunDivided& /*divided*/, Instant /*now*/) {
  Answers answers;
  const std::uint64_t version = truth_.view().committed_steps();
  const bool is_ordered = tracker_.has(version) || tracker_.version_under_way() == version;
  if (is_ordered || truth_.fallback.lost() || tracker_.why_not_now(truth_.has_storage())) return answers;
  tracker_.order(version, truth_.roster.savers(truth_.config.stages), CheckpointOrder::Rank::kOneOfMany,
                 truth_.clock.outside_rounds());
  ask_again(version, answers);
  return answers;
}

Answers CheckpointDuty::on(const ProcessGone& gone, Instant /*now*/) {
  if (gone.role == ProcessRole::kStorage && !truth_.is_ending()) tracker_.storage_lost(truth_.clock.outside_rounds());
  return {};
}

Answers CheckpointDuty::on(const MemberLost& lost, Instant /*now*/) {
  tracker_.replica_lost(lost.replica, truth_.clock.outside_rounds());
  return {};
}

Answers CheckpointDuty::on(const BranchBegins& begins, Instant /*now*/) {
  tracker_.begin_from(begins.start.from_checkpoint ? begins.start.version : 0, begins.start.weights_sha256);
  return {};
}

Answers CheckpointDuty::on(const ReturnBegins& /*begins*/, Instant /*now*/) {
  const StartPoint& start = truth_.config.start;
  const std::uint64_t steps = truth_.view().committed_steps();
  const bool is_of_this_branch = start.from_checkpoint && start.version <= steps;
  const auto rank =
      steps < truth_.config.steps_target ? CheckpointOrder::Rank::kOneOfMany : CheckpointOrder::Rank::kLast;
  tracker_.go_on_from(is_of_this_branch ? start.version : 0, is_of_this_branch ? start.weights_sha256 : std::string(),
                      rank, truth_.clock.outside_rounds());
  return {};
}

Answers CheckpointDuty::on(const EndsAgain& /*again*/, Instant /*now*/) {
  tracker_.begin_from(truth_.config.start.version, truth_.config.start.weights_sha256);
  return {};
}

Answers CheckpointDuty::on(const TickCame& /*tick*/, Instant /*now*/) {
  Answers answers;
  const auto version = tracker_.version_under_way();
  if (!truth_.is_training() || !version) return answers;
  const CheckpointPatience patience{truth_.config.save_within, 5 * truth_.config.save_within};
  const auto decision = tracker_.decide(truth_.has_storage(), patience, truth_.clock.outside_rounds());
  const std::string name = compose("step_", *version);
  switch (decision.action) {
    case CheckpointOrder::Action::kWait: break;
    case CheckpointOrder::Action::kGiveUp: answers.tell(last_one_failed(decision.reason)); break;
    case CheckpointOrder::Action::kCarry:
      answers.announce(RunEventKind::kCheckpointRepeated, name, decision.reason + "; the next commit saves");
      break;
    case CheckpointOrder::Action::kAskAgain:
      ask_again(*version, answers);
      answers.announce(RunEventKind::kCheckpointRepeated, name,
                       decision.reason + "; whoever still has it is asked to save it");
      break;
  }
  return answers;
}

void CheckpointDuty::ask_again(std::uint64_t version, Answers& answers) {
  const std::vector<Incarnation> holders = truth_.roster.savers(truth_.config.stages);
  for (std::uint32_t stage = 0; stage < holders.size(); ++stage) {
    if (tracker_.is_at_storage(StageId{stage})) continue;
    const Incarnation replica = holders[stage];
    answers.send(to_stage(truth_.view().members().process_of(replica), replica),
                 SaveState{truth_.history.branch(), version, StageId{stage}, replica});
  }
  tracker_.asked(holders);
}

EndOfRun CheckpointDuty::last_one_failed(const std::string& reason) const {
  const LastStep& last = truth_.ending.last_step;
  const bool has_failed = last.has_failed();
  return {has_failed ? last.stopped()->exit_status : 3,
          compose(has_failed ? last.stopped()->reason + ", but " : "", "the last checkpoint (step ",
                  truth_.view().committed_steps(), ") could not be saved: ", reason, "; the newest one is of step ",
                  tracker_.saved_version(), "; ", truth_.config.resume_hint),
          RunEventKind::kFailed};
}

}  // namespace shoal
