// Looks at members stage by stage; a stage that is lost is settled before the next is looked at.
#include "runtime/cluster/duties/losses.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"

namespace shoal {

Answers LossDuty::on(const StageEnded& ended, Instant /*now*/) {
  Answers answers;
  const View& view = truth_.view();
  // A lost process is told of by its successor: the fate of its replicas is decided already.
  const bool is_in_view =
      view.contains(ended.replica) && roster_.processes.is_alive(view.members().process_of(ended.replica));
  if (truth_.is_ending() || !is_in_view || !roster_.ended.insert(ended.replica).second) return answers;
  answers.announce(RunEventKind::kStageEnded, compose("stage/", ended.stage), ended.reason);
  if (!truth_.is_training()) return answers;
  answers.tell(ReplicaFailed{view.members().process_of(ended.replica), ended.reason});
  answers.tell(WorkersChanged{});  // first: whoever starts need not wait for the disk
  answers.tell(MembersDue{"its actor ended: " + ended.reason});
  return answers;
}

Answers LossDuty::on(const ProcessGone& gone, Instant /*now*/) {
  Answers answers;
  if (truth_.is_ending()) return answers;
  answers.tell(MembersDue{compose(gone.name, " ", gone.how.verb, ": ", gone.reason)});
  answers.tell(WorkersChanged{});
  return answers;
}

Answers LossDuty::on(const MoverGoes& goes, Instant /*now*/) {
  Answers answers;
  if (roster_.removing.insert(goes.replica).second) {
    answers.append(RemoveReplica{goes.stage, goes.replica, goes.reason});
  }
  return answers;
}

// A stage keeps its last replica in the view.
Answers LossDuty::on(const MembersDue& due, Instant now) {
  Answers answers;
  if (!truth_.is_training()) return answers;
  for (std::uint32_t stage = 0; stage < truth_.config.stages; ++stage) {
    const bool has_live = roster_.is_served(StageId{stage});
    for (const ReplicaMember& member : truth_.view().replicas_of(StageId{stage})) {
      if (roster_.is_live(member)) continue;
      answers.tell(MemberLost{member.incarnation});
      if (has_live && roster_.removing.insert(member.incarnation).second) {
        answers.append(RemoveReplica{StageId{stage}, member.incarnation, due.reason});
      }
    }
    if (!has_live) lose_stage(StageId{stage}, due.reason, now, answers);
  }
  return answers;
}

void LossDuty::lose_stage(StageId stage, const std::string& reason, Instant now, Answers& answers) {
  const std::string why = truth_.with_needs(stage, compose("stage ", stage, " lost its last replica (", reason, ")"));
  if (!fallback_.lose_stage(why, now)) return;
  answers.announce(RunEventKind::kStageLost, compose("stage/", stage), why);
  answers.tell(LossDue{});
}

Answers LossDuty::on(const RunDivided& divided, Instant now) {
  Answers answers;
  if (truth_.is_training() && fallback_.lose_stage(divided.reason, now)) answers.tell(LossDue{});
  return answers;
}

// All stages go back together, but not before what could still be saved is.
Answers LossDuty::on(const LossDue& /*due*/, Instant now) {
  Answers answers;
  if (!fallback_.lost() || !truth_.is_training()) return answers;
  const auto can_vote = [this](StageId stage) { return roster_.is_served(stage); };
  const bool can_commit = !truth_.ending.last_step.is_committed() &&
                          std::ranges::all_of(truth_.ballots.stages_without(truth_.view()), can_vote);
  const bool can_save = can_commit || truth_.checkpoints.version_under_way();
  if (fallback_.is_due(can_save, now)) answers.tell(RollBack{*fallback_.lost()});
  return answers;
}

Answers LossDuty::on(const RollBack& back, Instant /*now*/) {
  Answers answers;
  if (truth_.is_ending() || truth_.phase == RunPhase::kRollingBack) return answers;
  const std::string& hint = truth_.config.resume_hint;
  if (fallback_.throw_back(back.reason, truth_.view().committed_steps())) {
    // A dead branch may have left a checkpoint of a later step than this one has reached.
    answers.tell(StartWanted{FindCheckpoint{truth_.view().committed_steps()}});
  } else if (tells_of_memory_lack(back.reason)) {
    // Its keepers would only start what has no room here.
    answers.tell(EndOfRun{kGivenUpStatus, compose(back.reason, ", again and again; ", hint), RunEventKind::kFailed});
  } else {
    // One level up (vain_roll_backs.h): the spawner and the workers are started again by their keepers.
    answers.tell(
        EndOfRun{1, compose(back.reason, ", again and again without a step further; ", hint), RunEventKind::kFailed});
  }
  return answers;
}

Answers LossDuty::on(const BranchBegins& /*begins*/, Instant /*now*/) {
  Answers answers;
  fallback_.begin_again();
  const std::string why = fallback_.why().value_or("the run was started again");
  for (std::uint32_t stage = 0; stage < truth_.view().stage_count(); ++stage) {
    for (const ReplicaMember& member : truth_.view().replicas_of(StageId{stage})) {
      if (roster_.removing.insert(member.incarnation).second)
        answers.append(RemoveReplica{StageId{stage}, member.incarnation, why});
    }
  }
  return answers;
}

Answers LossDuty::on(const Commit& /*commit*/, Instant /*now*/) {
  fallback_.stepped();
  return {};
}

Answers LossDuty::on(const TickCame& /*tick*/, Instant now) { return on(LossDue{}, now); }

}  // namespace shoal
