// Back to a checkpoint, all stages together (P-29): a new branch, new incarnations of every stage actor and sync group.
//
// Nobody is told to go: a member ends when it reads its RemoveReplica, one that still starts by EndStage. The journal
// makes every step of it safe to be interrupted: a start that finds no members begins the same branch again.
#include <algorithm>
#include <utility>

#include "runtime/base/bound.h"
#include "runtime/base/compose.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/base/restart_policy.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

namespace {

const Bound kStartsInVainMax{"supervision.starts_in_vain", 3};  // from one checkpoint, without a step
constexpr Duration kPauseInVain = std::chrono::seconds(2);      // after the first; after the next twice that

}  // namespace

void SupervisorCore::roll_back(const std::string& reason, Instant now) {
  if (phase_ >= Phase::kEnding || phase_ == Phase::kRollingBack) return;
  if (!fallback_.throw_back(reason, view().committed_steps())) {
    // Its keepers would only start what has no room here.
    if (tells_of_memory_lack(reason)) {
      return finish(kGivenUpStatus, compose(reason, ", again and again; ", config_.resume_hint), "failed", now);
    }
    // One level up (setbacks.h): the spawner and the workers are started again by their keepers.
    return finish(1, compose(reason, ", again and again without a step further; ", config_.resume_hint), "failed", now);
  }
  // A dead branch may have left a checkpoint of a later step than this one has reached.
  find_start(FindCheckpoint{view().committed_steps()});
}

void SupervisorCore::find_start(FindCheckpoint wanted) {
  phase_ = Phase::kRollingBack;
  search_.begin(wanted);
  effects_.push_back(wanted);
}

void SupervisorCore::find_start_again(Instant now) {
  if (phase_ != Phase::kRollingBack) return;
  if (const auto look = search_.take_due(now)) effects_.push_back(*look);
}

// Storage may have removed the checkpoint since it was chosen (checkpoint.keep): one that came to its end late took its
// place. Who starts from that one has lost nothing. If it is whole and there, what failed may have been passing: it is
// tried again, after a pause, a few times.
void SupervisorCore::start_elsewhere(const std::string& why, Instant now) {
  if (!config_.start.from_checkpoint) return finish(kGivenUpStatus, why, "failed", now);
  const int times = in_vain_ && is_same_state(in_vain_->start, config_.start) ? in_vain_->times + 1 : 1;
  in_vain_ = StartInVain{config_.start, why, times};
  find_start(fallback_.why() ? FindCheckpoint{view().committed_steps()} : FindCheckpoint{});
}

SupervisorEffects SupervisorCore::found(const StartPoint& start, Instant now) {
  if (phase_ != Phase::kRollingBack) return take_effects();
  const bool is_in_vain = in_vain_ && is_same_state(in_vain_->start, start);
  if (is_in_vain && kStartsInVainMax.is_reached_by(static_cast<std::uint64_t>(in_vain_->times))) {
    finish(tells_of_memory_lack(in_vain_->why) ? kGivenUpStatus : 3, in_vain_->why, "failed", now);
    return take_effects();
  }
  start_over(start, now);
  if (is_in_vain && phase_ == Phase::kGathering) {
    const Duration pause = in_vain_->times * kPauseInVain;
    start_not_before_ = now + pause;
    announce("start_repeated", "run",
             compose(in_vain_->why, "; the checkpoint after ", start.version, " steps is whole: all start again in ",
                     std::chrono::duration_cast<std::chrono::seconds>(pause).count(), " s"));
  }
  if (const Duration pause = fallback_.pause(); pause > Duration::zero() && phase_ == Phase::kGathering) {
    start_not_before_ = std::max(start_not_before_, now + pause);
    announce("start_delayed", "run",
             compose("for want of memory all start again in ",
                     std::chrono::duration_cast<std::chrono::seconds>(pause).count(), " s"));
  }
  return take_effects();
}

// A disk that cannot be read now may be read in a while.
SupervisorEffects SupervisorCore::not_found(const Failure& failure, Instant now) {
  if (phase_ != Phase::kRollingBack) return take_effects();
  if (failure.error == Error::kIo) {
    if (const auto pause = search_.refused(failure.message, now)) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*pause).count();
      const bool is_over = *pause == Duration::zero();
      announce(
          "checkpoint_unreadable", "run",
          failure.message + (is_over ? "; it is passed over now" : compose("; looked for again in ", seconds, " s")));
      return take_effects();
    }
  }
  finish(exit_code(failure.error), compose(failure.message, "; ", config_.resume_hint), "failed", now);
  return take_effects();
}

void SupervisorCore::start_over(const StartPoint& start, Instant now) {
  const std::uint64_t committed = view().committed_steps();
  const bool is_thrown_back = fallback_.why().has_value();
  branches_.begin(view(), {start.branch, start.version}, is_thrown_back);
  config_.start = start;
  config_.policy.optimizer_step_at_start = start.optimizer_step;
  checkpoints_.begin_from(start.from_checkpoint ? start.version : 0, start.weights_sha256);
  ballots_.forget_step();
  step_timer_.begun_again();
  fallback_.begin_again();
  last_step_.undo();
  failed_starts_ = FailedStarts();
  for (const StartingReplica& starting : starting_.end_all()) {
    send(to_node_agent(starting.process), EndStage{starting.order.stage, starting.order.replica, "the run rolls back"});
  }
  end_joiners("the run rolls back");
  const std::string why = fallback_.why().value_or("the run was started again");
  for (std::uint32_t stage = 0; stage < view().stage_count(); ++stage) {
    for (const ReplicaMember& member : view().replicas_of(StageId{stage})) {
      if (roster_.removing.insert(member.incarnation).second)
        append(RemoveReplica{StageId{stage}, member.incarnation, why});
    }
  }
  phase_ = Phase::kGathering;
  phase_since_ = now;
  if (view().position().value == 0) {
    // Trained by one process, or imported: the journal begins here.
    if (!start.from_checkpoint && start.branch == Branch{}) return;
    const std::string how =
        compose("from step ", start.version, ", which no journal has, as branch ", branches_.current());
    note("resumed run: " + how);
    return send(to_metrics(), RunEvent{"resumed", "run", how, start.version});
  }
  const bool goes_back = is_thrown_back || (start.version < committed && !start.is_wanted);
  announce(
      goes_back ? "rolled_back" : "resumed", "run",
      compose(is_thrown_back ? *fallback_.why() + ": " : std::string(), "from step ", start.version, " of ", committed,
              " committed, as branch ", branches_.current(), start.is_wanted ? ", which a person began" : ""));
  send_peers();
  // What can be saved is the checkpoint.
  if (const auto& stop = last_step_.stopped()) return finish(stop->exit_status, stop->reason, stop->event, now);
  let_all_leavers_go(now);
}

// What a person needs to know where memory is short.
std::string SupervisorCore::with_needs(StageId stage, const std::string& why) const {
  if (!tells_of_memory_lack(why) || stage.value >= config_.state_bytes.size()) return why;
  return compose(why, "; the state of stage ", stage, " alone has ", (config_.state_bytes[stage.value] >> 20U) + 1,
                 " MiB, and what computes it needs more: allow its workers more memory, cut the model into more stages "
                 "(pipeline.stages), or lower batch.microbatch");
}

// Nobody has trained since a person began this run, or went on with it.
bool SupervisorCore::is_first_start() const {
  const bool is_taken_over = config_.return_within > Duration::zero() && view().position().value > 0;
  return !fallback_.why() && !is_taken_over;
}

// At the first start all replicas are waited for; a run that was thrown back trains with what is left.
bool SupervisorCore::is_patience_over(Instant now) const {
  return !is_first_start() && now - phase_since_ >= config_.gather_within;
}

}  // namespace shoal
