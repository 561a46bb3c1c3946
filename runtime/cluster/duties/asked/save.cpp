// A goal is judged by what is true now: nothing but a failure has to be remembered to answer.
#include "runtime/cluster/duties/asked/save.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/cluster/truth/waiting_words.h"

namespace shoal {

// Returns the newest state that is safe or on its way to storage, or else the one that the next commit brings.
SaveGoal SaveDuty::newest() const {
  const std::uint64_t version = truth_.view().committed_steps();
  const CheckpointTracker& tracker = truth_.checkpoints;
  const bool is_there = version > 0 && (tracker.has(version) || tracker.version_under_way() == version);
  const bool is_last = truth_.ending.last_step.is_committed();
  return {is_there || is_last ? version : version + 1, truth_.history.branch()};
}

// A goal of a branch that is given up is one of this branch: its beginning, if that is no older.
SaveGoal SaveDuty::goal_of(const SaveRequest& request) const {
  if (!request.goal) return newest();
  const bool is_dead = request.goal->branch != truth_.history.branch();
  return is_dead && !truth_.checkpoints.has(request.goal->step) ? newest() : *request.goal;
}

bool SaveDuty::is_failed(const SaveGoal& goal) const { return failed_ && failed_->step >= goal.step; }

SaveAnswer SaveDuty::refusal() const {
  const EndRun& end = truth_.ending.dismissal.end();
  if (end.is_handed_over) return {OperatorVerdict::kAbsent, {}, {}, "the spawner starts again: " + end.reason};
  const std::uint64_t saved = truth_.checkpoints.saved_version();
  return {OperatorVerdict::kRefused,
          {},
          {},
          compose("the run is over: ", end.reason,
                  saved == 0 ? "; it has no checkpoint" : compose("; its newest checkpoint is step_", saved))};
}

std::string SaveDuty::words_of(const SaveGoal& goal, Instant now) const {
  const std::uint64_t version = truth_.view().committed_steps();
  if (goal.step <= version && truth_.checkpoints.version_under_way().value_or(0) >= goal.step) {
    return compose("the state after ", goal.step, " steps is being saved");
  }
  std::string text = compose("the state after ", std::max(goal.step, version + 1), " steps will be saved; ", version,
                             version == 1 ? " is done" : " are done");
  if (!truth_.is_training()) return text + "; " + explain_waiting(truth_, now);
  const auto why_not = truth_.checkpoints.why_not_now(truth_.has_storage());
  if (why_not || !delayed_.empty()) text += "; " + why_not.value_or(delayed_);
  return text;
}

SaveHeard SaveDuty::hear(const SaveRequest& request, Instant now) {
  SaveHeard heard;
  const SaveGoal goal = goal_of(request);
  const bool is_saved = goal.step > 0 && truth_.checkpoints.has(goal.step);
  if (is_saved && (request.goal || !truth_.is_ending())) {
    const std::uint64_t saved = truth_.checkpoints.saved_version();
    const SaveGoal reached{saved, truth_.history.branch()};
    heard.answer = {OperatorVerdict::kDone, reached, SaveStage::kSaved, compose("step_", saved, " is saved")};
    return heard;
  }
  if (request.goal && is_failed(goal)) {
    heard.answer = {OperatorVerdict::kDone, goal, SaveStage::kFailed,
                    compose("step_", failed_->step, " could not be saved: ", failed_->reason)};
    return heard;
  }
  if (truth_.is_ending()) {
    heard.answer = refusal();
    return heard;
  }
  want(goal, request.reason, heard.answers);
  heard.answer = {OperatorVerdict::kDone, goal, SaveStage::kOrdered, words_of(goal, now)};
  return heard;
}

void SaveDuty::want(const SaveGoal& goal, const std::string& reason, Answers& answers) {
  failed_.reset();
  if (wanted_ != goal.step) {
    wanted_ = goal.step;
    delayed_.clear();
    answers.announce(RunEventKind::kCheckpointAsked, compose("step_", goal.step), reason);
  }
  const CheckpointTracker& tracker = truth_.checkpoints;
  const bool is_on_its_way = tracker.version_under_way().value_or(0) >= goal.step;
  if (!is_on_its_way && !truth_.ending.last_step.is_committed()) answers.tell(CheckpointWanted{});
}

Answers SaveDuty::on(const CheckpointSaved& saved, Instant /*now*/) {
  const bool is_ours = saved.branch == truth_.history.branch() && wanted_ && saved.step >= *wanted_;
  if (is_ours) wanted_.reset(), delayed_.clear();
  return {};
}

Answers SaveDuty::on(const CheckpointFailed& failed, Instant /*now*/) {
  const bool is_ours = failed.branch == truth_.history.branch() && wanted_ && failed.step >= *wanted_;
  if (is_ours) {
    failed_ = Failed{failed.step, failed.reason};
    wanted_.reset();
    delayed_.clear();
  }
  return {};
}

Answers SaveDuty::on(const CheckpointDelayed& delayed, Instant /*now*/) {
  if (wanted_) delayed_ = delayed.why;
  return {};
}

Answers SaveDuty::on(const BranchBegins& begins, Instant /*now*/) {
  Answers answers;
  failed_.reset();
  if (!wanted_) return answers;
  const bool is_there = begins.start.from_checkpoint && begins.start.version >= *wanted_;
  wanted_ = is_there ? std::nullopt : std::optional(begins.start.version + 1);
  if (wanted_) answers.tell(CheckpointWanted{});
  return answers;
}

}  // namespace shoal
