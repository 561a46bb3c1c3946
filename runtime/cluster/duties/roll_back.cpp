// Search, start, and what is said of it.
#include "runtime/cluster/duties/roll_back.h"

#include <algorithm>

#include "runtime/base/bound.h"
#include "runtime/base/compose.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/base/restart_policy.h"

namespace shoal {

namespace {

const Bound kStartsInVainMax{"supervision.starts_in_vain", 3};  // from one checkpoint, without a step
constexpr Duration kPauseInVain = std::chrono::seconds(2);      // after the first; after the next twice that

[[nodiscard]] std::string seconds_of(Duration pause) {
  return compose(std::chrono::duration_cast<std::chrono::seconds>(pause).count(), " s");
}

[[nodiscard]] std::string words_of_silence() {
  return "the checkpoint has been read for " + seconds_of(StartSearch::kSilenceToldAfter) +
         " and more: its disk is slow for one so large, or hangs; it is waited for";
}

[[nodiscard]] std::string words_of(const SearchAgain& next) {
  if (!next.takes_older) return "looked for again in " + seconds_of(next.pause);
  return next.is_endless ? "an older one is taken, too, if there is one; otherwise it is waited for"
                         : "it is passed over now";
}

}  // namespace

Answers RollBackDuty::on(const StartWanted& start, Instant now) {
  Answers answers;
  answers.tell(PhaseBegins{RunPhase::kRollingBack});
  // A stopped run ends without a look: it goes on later from what is saved, and a disk that hangs holds up no end.
  if (const auto& stop = truth_.ending.last_step.stopped()) {
    answers.tell(end_by(*stop));
    return answers;
  }
  FindCheckpoint wanted = start.wanted;
  wanted.saved = truth_.newest_saved();  // a start without any would throw it away
  answers.perform(search_.begin(wanted, now));
  return answers;
}

Answers RollBackDuty::on(const TickCame& /*tick*/, Instant now) {
  Answers answers;
  if (truth_.phase != RunPhase::kRollingBack) return answers;
  if (const auto look = search_.take_due(truth_.newest_saved(), now)) answers.perform(*look);
  if (search_.is_silence_news(now)) answers.announce(RunEventKind::kCheckpointUnreadable, "run", words_of_silence());
  return answers;
}

// A run that has come to its end meanwhile awaits none.
bool RollBackDuty::take_answer(std::uint64_t look) {
  return search_.take_answer(look) && truth_.phase == RunPhase::kRollingBack;
}

// Says whether a newer checkpoint than the one that was found was saved while the disk was read.
bool RollBackDuty::is_outdated(const StartPoint& found) const {
  const auto saved = truth_.newest_saved();
  return saved > found.version && search_.is_outdated(saved);
}

// If the checkpoint is whole and there, what failed may have been passing: it is tried again, after a pause.
Answers RollBackDuty::on(const StartFailed& failed, Instant /*now*/) {
  Answers answers;
  const StartPoint& start = truth_.config.start;
  if (!start.from_checkpoint) {
    answers.tell(EndOfRun{kGivenUpStatus, failed.why, RunEventKind::kFailed});
    return answers;
  }
  const int times = in_vain_ && is_same_state(in_vain_->start, start) ? in_vain_->times + 1 : 1;
  in_vain_ = StartInVain{start, failed.why, times};
  answers.tell(StartWanted{truth_.fallback.why() ? FindCheckpoint{truth_.view().committed_steps()} : FindCheckpoint{}});
  return answers;
}

Answers RollBackDuty::on(const StartFound& found, Instant now) {
  Answers answers;
  if (!take_answer(found.look)) return answers;
  if (is_outdated(found.start)) {
    answers.perform(search_.look_again(truth_.newest_saved(), now));
    return answers;
  }
  const bool is_in_vain = in_vain_ && is_same_state(in_vain_->start, found.start);
  if (is_in_vain && kStartsInVainMax.is_reached_by(static_cast<std::uint64_t>(in_vain_->times))) {
    answers.tell(
        EndOfRun{tells_of_memory_lack(in_vain_->why) ? kGivenUpStatus : 3, in_vain_->why, RunEventKind::kFailed});
    return answers;
  }
  answers.tell(StartOver{found.start});
  answers.tell(StartRepeated{is_in_vain});
  return answers;
}

Answers RollBackDuty::on(const StartRepeated& repeated, Instant now) {
  Answers answers;
  if (truth_.phase != RunPhase::kGathering) return answers;
  if (repeated.is_in_vain) {
    const Duration pause = in_vain_->times * kPauseInVain;
    answers.tell(StartPaused{now + pause});
    answers.announce(RunEventKind::kStartRepeated, "run",
                     compose(in_vain_->why, "; the checkpoint after ", truth_.config.start.version,
                             " steps is whole: all start again in ", seconds_of(pause)));
  }
  if (const Duration pause = truth_.fallback.pause(); pause > Duration::zero()) {
    answers.tell(StartPaused{now + pause});
    answers.announce(RunEventKind::kStartDelayed, "run", "for want of memory all start again in " + seconds_of(pause));
  }
  return answers;
}

// A disk that cannot be read now may be read in a while.
Answers RollBackDuty::on(const StartNotFound& not_found, Instant now) {
  Answers answers;
  if (!take_answer(not_found.look)) return answers;
  const Failure& failure = not_found.failure;
  const auto next = failure.error == Error::kIo ? search_.refused(failure.message, now) : std::nullopt;
  if (!next && search_.is_outdated(truth_.newest_saved())) {
    answers.perform(search_.look_again(truth_.newest_saved(), now));
    return answers;
  }
  if (!next) {
    const std::string why = compose(failure.message, "; ", truth_.config.resume_hint);
    answers.tell(EndOfRun{exit_code(failure.error), why, RunEventKind::kFailed});
    return answers;
  }
  if (!next->is_told) return answers;  // `status` says it, for as long as it lasts
  answers.announce(RunEventKind::kCheckpointUnreadable, "run", compose(failure.message, "; ", words_of(*next)));
  return answers;
}

Answers RollBackDuty::on(const StartOver& over, Instant /*now*/) {
  Answers answers;
  answers.tell(BranchBegins{over.start});
  answers.tell(BranchBegun{});
  return answers;
}

Answers RollBackDuty::on(const BranchBegun& /*begun*/, Instant /*now*/) {
  Answers answers;
  const StartPoint& start = truth_.config.start;
  const Branch branch = truth_.history.branch();
  const std::uint64_t committed = truth_.view().committed_steps();
  if (truth_.view().position().value == 0) {
    // Trained by one process, or imported: the journal begins here.
    if (!start.from_checkpoint && start.branch == Branch{}) return answers;
    const std::string how = compose("from step ", start.version, ", which no journal has, as branch ", branch);
    answers.note("resumed run: " + how);
    answers.send(to_metrics(), RunEvent{RunEventKind::kResumed, "run", how, start.version});
    return answers;
  }
  const auto& why = truth_.fallback.why();
  const bool goes_back = why || (start.version < committed && !start.is_wanted);
  const std::string how = compose(why ? *why + ": " : std::string(), "from step ", start.version, " of ", committed,
                                  " committed, as branch ", branch, start.is_wanted ? ", which a person began" : "");
  const RunEventKind kind = goes_back ? RunEventKind::kRolledBack : RunEventKind::kResumed;
  answers.note(compose(word_of(kind), " run: ", how));
  answers.send(to_metrics(), RunEvent{kind, "run", how, start.version});
  answers.tell(PeersChanged{});
  // The checkpoint is all that can be saved.
  if (const auto& stop = truth_.ending.last_step.stopped()) {
    answers.tell(end_by(*stop));
  } else {
    answers.tell(AllLeaversDue{});
  }
  return answers;
}

Answers RollBackDuty::on(const TrainingBegins& /*begins*/, Instant /*now*/) {
  in_vain_.reset();
  return {};
}

}  // namespace shoal
