// Each handler says whether the run ends now; tell_end() says so to everybody.
#include "runtime/cluster/duties/ending.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/truth/commit_question.h"

namespace shoal {

Answers EndingDuty::on(const StopAsked& stop, Instant /*now*/) {
  Answers answers;
  if (truth_.is_ending() || ending_.last_step.has_failed()) return answers;  // it saves, and ends anyway
  ending_.last_step.stop({stop.reason, RunEventKind::kStopped, stop.exit_status});
  answers.announce(RunEventKind::kStopping, "run", stop.reason);
  if (truth_.is_training()) {
    answers.tell(CommitDue{});  // it may have waited for somebody
    answers.tell(EndDue{});
  } else if (truth_.phase != RunPhase::kReturning) {  // then what the members hold is saved first
    answers.tell(EndOfRun{stop.exit_status, stop.reason, RunEventKind::kStopped});
  }
  return answers;
}

Answers EndingDuty::on(const EndsAfterStep& ends, Instant /*now*/) {
  ending_.last_step.stop(ends.order);
  return {};
}

Answers EndingDuty::on(const EvaluationResult& result, Instant now) {
  if (result.branch == truth_.history.branch()) {
    if (result.complete) ending_.last_step.evaluated(result.step);
    const bool is_on_its_way = !result.complete && result.step == truth_.view().committed_steps();
    if (is_on_its_way) (void)evaluation_.seen(result.token_count, truth_.clock.outside_rounds());
  }
  return on(EndDue{}, now);
}

Answers EndingDuty::on(const TrainingBegins& begins, Instant /*now*/) {
  ending_.last_step.begin_from(begins.version);
  evaluation_ = ProgressWatch(truth_.clock.outside_rounds());
  return {};
}

// Undoes the work of the run's end, which is then done again.
Answers EndingDuty::on(const BranchBegins& /*begins*/, Instant /*now*/) {
  ending_.last_step.undo();
  return {};
}

Answers EndingDuty::on(const Commit& commit, Instant /*now*/) {
  evaluation_ = ProgressWatch(truth_.clock.outside_rounds());
  ending_.last_step.committed(commit.is_last);
  return {};
}

Answers EndingDuty::on(const TickCame& /*tick*/, Instant /*now*/) {
  Answers answers;
  answers.tell(EndDue{});
  answers.tell(DismissalDue{});
  return answers;
}

Answers EndingDuty::on(const EndDue& /*due*/, Instant now) {
  Answers answers;
  if (!truth_.is_training()) return answers;
  const std::uint64_t steps = truth_.view().committed_steps();
  if (const auto lack = lack_of_step(now)) {
    ending_.last_step.drop_step();
    answers.perform(TellPerson{
        compose("the step after step ", steps, " is not made, because ", *lack, "; what is committed is saved")});
  }
  switch (ending_.last_step.awaits(truth_.checkpoints.has(steps))) {
    case RunAwaits::kSteps: return answers;
    case RunAwaits::kCheckpoint:
      if (!truth_.checkpoints.version_under_way()) answers.tell(LastStateUnsaved{});
      return answers;
    case RunAwaits::kEvaluation:
      if (evaluation_.silence(truth_.clock.outside_rounds()) < truth_.config.evaluate_within) return answers;
      answers.announce(RunEventKind::kEvaluationGivenUp, "data_loader", "no more of the last evaluation came for long");
      break;
    case RunAwaits::kNothing: break;
  }
  if (const auto& stop = ending_.last_step.stopped()) {
    answers.tell(end_by(*stop));
  } else {
    answers.tell(EndOfRun{0, compose("all ", counted(steps, "step"), " ", is_or_are(steps), " committed"),
                          RunEventKind::kFinished});
  }
  return answers;
}

// The step is dropped then (P-35a). A commit that was asked for is made first.
std::optional<std::string> EndingDuty::lack_of_step(Instant now) const {
  const LastStep& last = ending_.last_step;
  if (!last.stopped() || last.is_committed() || truth_.history.is_entry_asked()) return std::nullopt;
  if (truth_.unreadable_text) return compose("its text cannot be read (", *truth_.unreadable_text, ")");
  return truth_.signs.lasting_cut(truth_.roster.parties(), now);
}

// Once (P-35a): a journal that refuses again ends the run at once. While a round is due and no entry yet, members stand
// at its boundary, where they answer no SaveState.
bool EndingDuty::can_save_first() const {
  const bool is_saved = truth_.checkpoints.has(truth_.view().committed_steps());
  const bool can_answer = truth_.is_training() && open_rounds(truth_).empty();
  return can_answer && !ending_.last_step.has_failed() && !is_saved && truth_.has_storage();
}

Answers EndingDuty::on(const DismissalDue& /*due*/, Instant now) {
  Answers answers;
  if (truth_.phase != RunPhase::kEnding) return answers;
  const auto& processes = truth_.roster.processes;
  const auto decision =
      ending_.dismissal.decide({!processes.alive(ProcessRole::kNode).empty(), !processes.alive().empty()}, now);
  if (decision.goes_storage) dismiss(ProcessRole::kStorage, answers);
  if (!decision.is_over) return answers;
  answers.tell(PhaseBegins{RunPhase::kOver});
  answers.perform(ending_.dismissal.end());
  return answers;
}

Answers EndingDuty::on(const EndOfRun& end, Instant now) {
  Answers answers;
  if (truth_.is_ending()) return answers;
  if (truth_.is_training()) answers.append(FinishRun{end.reason});
  tell_end(end, now, answers);
  return answers;
}

// Whoever has not heard of the end comes back and asks.
Answers EndingDuty::on(const EndsAgain& /*again*/, Instant now) {
  ending_.dismissal.expect_questions();
  const View& view = truth_.view();
  if (view.committed_steps() >= truth_.config.steps_target)
    return on(EndOfRun{0, view.finish_reason(), RunEventKind::kFinished}, now);
  const StopOrder& stop = *truth_.config.stopping;
  return on(EndOfRun{stop.exit_status, view.finish_reason(), stop.kind}, now);
}

Answers EndingDuty::on(const HandsOver& hands_over, Instant now) {
  Answers answers;
  ending_.dismissal.begin(EndRun{1, hands_over.reason, true}, now);
  answers.tell(PhaseBegins{RunPhase::kEnding});
  return answers;
}

// A commit that cannot be recorded is not made: the run halts where it is, and saves what is committed. An end that
// cannot be recorded has not been told of, and is another one.
Answers EndingDuty::on(const JournalFailed& failed, Instant now) {
  Answers answers;
  const EndRun end = ending_.dismissal.end();
  const bool is_end_untold = truth_.phase == RunPhase::kEnding && !end.is_handed_over && failed.is_entry_asked;
  if (truth_.is_ending() && !is_end_untold) return answers;
  if (can_save_first()) {
    const std::string why = compose(failed.reason, "; ", truth_.config.resume_hint);
    ending_.last_step.stop({why, RunEventKind::kFailed, failed.exit_status});
    ending_.last_step.drop_step();
    answers.perform(TellPerson{failed.reason + "; what is committed is saved"});
    answers.tell(EndDue{});
    return answers;
  }
  const bool is_said = end.reason.starts_with(failed.reason);  // it is what ends the run
  const std::string why = !is_end_untold ? failed.reason
                          : is_said      ? end.reason
                                         : compose(end.reason, ", but ", failed.reason);
  if (is_end_untold && end.status_of_others != 0) {
    tell_end({end.exit_status, why, RunEventKind::kFailed}, now, answers);
  } else {
    tell_end({failed.exit_status, compose(why, "; ", truth_.config.resume_hint), RunEventKind::kFailed}, now, answers);
  }
  return answers;
}

void EndingDuty::tell_end(const EndOfRun& end, Instant now, Answers& answers) {
  const bool is_good = end.kind != RunEventKind::kFailed;
  // Thrown back and not trained since, it ends where it would have gone on from.
  const std::uint64_t saved = truth_.phase == RunPhase::kRollingBack ? truth_.checkpoints.saved_version() : 0;
  const std::uint64_t steps = truth_.phase < RunPhase::kTraining ? std::max(truth_.config.start.version, saved)
                                                                 : truth_.view().committed_steps();
  const std::string subject = is_good ? truth_.checkpoints.saved_sha256() : "run";
  answers.note(compose(word_of(end.kind), " ", subject, ": ", end.reason));
  answers.send(to_metrics(), RunEvent{end.kind, subject, end.reason, steps});
  answers.tell(PhaseBegins{RunPhase::kEnding});
  const auto status = static_cast<std::uint32_t>(end.exit_status);
  ending_.dismissal.begin(EndRun{end.exit_status, end.reason, false, is_good ? 0U : status}, now);
  dismiss(ProcessRole::kNode, answers);
}

void EndingDuty::dismiss(ProcessRole role, Answers& answers) const {
  const EndRun& end = ending_.dismissal.end();
  for (const ProcessIncarnation process : truth_.roster.processes.alive(role)) {
    answers.send(to_node_agent(process),
                 EndProcess{end.reason, ending_.dismissal.status_of(role), role == ProcessRole::kNode});
  }
}

}  // namespace shoal
