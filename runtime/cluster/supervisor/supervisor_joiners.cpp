// Replicas that join while the run trains: where they start, when they are added, what is held for them (P-25 .. P-27).
#include "runtime/cluster/supervisor/supervisor.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/base/compose.h"

namespace shoal {

namespace {

constexpr Duration kRestAfterGivingUp = std::chrono::minutes(10);

[[nodiscard]] std::string name_of(const SpawnStage& order) { return compose("stage/", order.stage, "/", order.slot); }

}  // namespace

// Not in the last step: nothing would come of it.
bool SupervisorCore::may_join() const {
  return phase_ == Phase::kTraining && !last_step_.is_committed() && !last_step_.stopped() && !fallback_.lost();
}

ReplacementQuestion SupervisorCore::who_is_lacking(Instant now) const {
  ReplacementQuestion question;
  question.stages = config_.stages;
  question.replicas = config_.replicas;
  question.replicas_max = std::max(config_.replicas_max, config_.quorum);
  for (const auto& [place, past] : roster_.slots) question.last_worker[place] = past.last_worker;
  std::set<ProcessIncarnation> busy;
  const auto take = [&](StageId stage, ReplicaId slot, ProcessIncarnation process) {
    busy.insert(process);
    question.taken.push_back({stage, slot, roster_.processes.find(process)->join.name});
  };
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    for (const ReplicaMember& member : roster_.live(StageId{stage})) {
      take(StageId{stage}, member.slot, member.process);
    }
  }
  for (const Joiner& joiner : joins_.joiners()) take(joiner.order.stage, joiner.order.slot, joiner.process);
  for (const ProcessIncarnation process : roster_.processes.alive(ProcessRole::kNode)) {
    const std::string name = roster_.processes.name_of(process);
    const bool is_free = !busy.contains(process) && !roster_.leavers.contains(process) && starts_.may_start(name, now);
    if (is_free) question.free.push_back({{process, roster_.processes.find(process)->join.name}, name});
  }
  return question;
}

void SupervisorCore::place_joiners(Instant now) {
  if (!may_join()) return;
  while (const auto next = plan_replacement(who_is_lacking(now))) {
    const Placement& place = next->placement;
    const Incarnation donor = roster_.donor_of(place.stage, joins_.joiners());
    if (donor == Incarnation{}) return;  // nobody to copy: the stage is lost (P-29)
    const SpawnStage order{place.stage,
                           place.slot,
                           numbers_.take_actor(),
                           branches_.current(),
                           view().committed_steps(),
                           view().optimizer_step(),
                           false,
                           donor,
                           view().position()};
    joins_.ask(order, place.process, outside_rounds());
    send(to_node_agent(place.process), order);
    announce("replica_starting", name_of(order),
             compose(next->reason, "; it copies replica ", donor, " as incarnation ", order.replica));
  }
}

void SupervisorCore::end_joiners(const std::string& reason) {
  for (const Joiner& joiner : joins_.end_all()) {
    send(to_node_agent(joiner.process), EndStage{joiner.order.stage, joiner.order.replica, reason});
  }
}

// A member tells which state it has; a joiner, how far it has come.
void SupervisorCore::hear_while_training(const StageReady& ready, Instant now) {
  if (view().stage_of(ready.replica) == ready.stage) {
    joins_.member_is(ready);
  } else if (!joins_.is_ready(ready, outside_rounds())) {
    end_unless_member(ready);
  }
  tend_joiners(now);
}

void SupervisorCore::end_unless_member(const StageReady& ready) {
  if (phase_ >= Phase::kEnding || view().contains(ready.replica)) return;
  send(to_node_agent(ready.process), EndStage{ready.stage, ready.replica, "nobody waits for it any more"});
}

void SupervisorCore::tend_joiners(Instant now) {
  if (!may_join()) return;
  place_joiners(now);  // first: whoever is being added below is in the view only when that is durable
  for (const JoinDecision& decision : joins_.decide(view().committed_steps(), outside_rounds())) decided(decision, now);
}

void SupervisorCore::decided(const JoinDecision& decision, Instant now) {
  const Joiner& joiner = decision.joiner;
  const SpawnStage& order = joiner.order;
  const std::string worker = roster_.processes.name_of(joiner.process);
  const auto end_it = [&](const char* event) {
    announce(event, name_of(order), compose("on ", worker, ": ", decision.reason));
    send(to_node_agent(joiner.process), EndStage{order.stage, order.replica, decision.reason});
  };
  switch (decision.outcome) {
    case JoinOutcome::kAdmit:
      append(AddReplica{order.stage, order.slot, order.replica, joiner.process, view().committed_steps()});
      return announce("replica_added", name_of(order), compose("on ", worker, ", ", decision.reason));
    case JoinOutcome::kHold: return announce("commit_held", name_of(order), decision.reason);
    case JoinOutcome::kHoldOver: return announce("commit_released", name_of(order), decision.reason);
    case JoinOutcome::kDiffers: end_it("state_differs"); return ended_on(joiner.process, decision.reason, now);
    case JoinOutcome::kGiveUp: end_it("join_given_up"); return starts_.rest(worker, now + kRestAfterGivingUp);
  }
}

// In place a few times; then it is the keeper's turn to start the process again, and that of another worker meanwhile.
void SupervisorCore::ended_on(ProcessIncarnation process, const std::string& reason, Instant now) {
  const std::string worker = roster_.processes.name_of(process);
  if (!starts_.failed(worker, now)) return;
  const auto window = std::chrono::duration_cast<std::chrono::seconds>(config_.restart_window).count();
  const std::string why = compose("replicas on it ended more than ", config_.restart_budget, " times within ", window,
                                  " s, the last: ", reason, "; its keeper starts the process again");
  announce("restart_budget_spent", worker, why);
  send(to_node_agent(process), EndProcess{why, 1});
}

}  // namespace shoal
