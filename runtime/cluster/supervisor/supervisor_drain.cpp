// Who leaves without anybody's work being lost (`shoal drain`, SIGTERM of a node): it finishes the step, is in no plan
// of the next one, and is removed between the two (P-28a).
//
//   draining ──Commit──▶ RemoveReplica ──▶ EndProcess 0                      while another replica serves the stage
//   draining, the last of its stage ──Commit with a checkpoint, then no further Commit──▶ saved ──▶ EndProcess 0
//
// The last one takes nothing with it: the run goes back to that very checkpoint, as soon as somebody can load it.
#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

namespace {

[[nodiscard]] bool is_saving(const std::vector<ReplicaMember>& members, ProcessIncarnation process,
                             const CheckpointDesk& checkpoints) {
  return std::ranges::any_of(members, [&](const ReplicaMember& member) {
    return member.process == process && checkpoints.is_saving(member.incarnation);
  });
}

}  // namespace

// What becomes of it, for whoever asked. The wish is kept while others come back to a spawner that was started again:
// only then is it known who is the last of a stage.
std::string SupervisorCore::drain(ProcessIncarnation process, const std::string& reason, Instant now) {
  const std::string name = roster_.processes.name_of(process);
  if (roster_.leavers.contains(process)) return name + " is leaving already";
  const auto stages = roster_.stages_of(process);
  if (stages.empty()) {
    const bool is_starting = starting_.is_on(process);
    send_away(process, reason, now);
    return name + (is_starting ? " was about to serve and leaves before the start" : " served nothing and leaves");
  }
  roster_.leavers.add(process, name, reason);
  announce("draining", name, reason);
  tell_who_is_avoided();
  if (phase_ == Phase::kReturning) {
    return compose(name, " leaves after step ", view().committed_steps(),
                   ", when its state is saved if it is the last to serve a stage then; others are still coming back");
  }
  for (const StageId stage : stages) {
    if (roster_.is_served_without(stage, process)) continue;
    return compose(name, " is the last to serve stage ", stage, "; it leaves when its state is saved after step ",
                   view().committed_steps());
  }
  return compose(name, " leaves after step ", view().committed_steps());
}

void SupervisorCore::tell_who_is_avoided() { effects_.push_back(AvoidReplicas{roster_.leaving()}); }

// After a commit: who is in no plan of the next step holds nothing. One that still saves goes after the next.
bool SupervisorCore::let_leavers_go(Instant now) {
  bool has_gone = false;
  for (const auto& [process, reason] : roster_.leavers.all()) {
    const auto stages = roster_.stages_of(process);
    const auto is_missed = [&, leaver = process](StageId stage) {
      return !roster_.is_served_without(stage, leaver) || is_saving(view().replicas_of(stage), leaver, checkpoints_);
    };
    if (std::any_of(stages.begin(), stages.end(), is_missed)) continue;
    send_away(process, reason, now);
    has_gone = true;
  }
  return has_gone;
}

// After a checkpoint of the last commit: also those whose stage goes on only with it.
void SupervisorCore::let_saved_leavers_go(Instant now) {
  if (phase_ != Phase::kTraining || last_step_.is_committed()) return;
  if (!checkpoints_.has(view().committed_steps())) return;
  if (!roster_.last_that_leaves(joins_.joiners())) return;
  ballots_.forget_step();  // what is done of the next step goes with them
  let_all_leavers_go(now);
}

// Nothing of what they hold is wanted any more.
void SupervisorCore::let_all_leavers_go(Instant now) {
  for (const auto& [process, reason] : roster_.leavers.all()) send_away(process, reason, now);
}

// Its replicas are removed by the loss of their process, like anybody's.
void SupervisorCore::send_away(ProcessIncarnation process, const std::string& reason, Instant now) {
  roster_.leavers.gone(process);
  send(to_node_agent(process), EndProcess{reason, 0});
  lose_process(process, reason, now, kLeft);
}

}  // namespace shoal
