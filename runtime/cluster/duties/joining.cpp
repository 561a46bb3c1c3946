// Places first, decides second: whoever is added is in the view only when that is durable.
#include "runtime/cluster/duties/joining.h"

#include <algorithm>
#include <set>

#include "runtime/base/compose.h"
#include "runtime/cluster/balance/memory_refusals.h"
#include "runtime/cluster/recovery/shared_devices.h"
#include "runtime/cluster/truth/commit_question.h"
#include "runtime/cluster/truth/stage_balance.h"

namespace shoal {

namespace {

[[nodiscard]] std::string name_of(const SpawnStage& order) { return compose("stage/", order.stage, "/", order.slot); }

}  // namespace

ReplacementQuestion JoinDuty::question(Instant now) const {
  const Roster& roster = truth_.roster;
  ReplacementQuestion question;
  question.stages = truth_.config.stages;
  question.replicas = truth_.config.replicas;
  question.needs = truth_.config.needs;
  question.replicas_max = std::max(truth_.config.replicas_max, truth_.config.quorum);
  for (const auto& [place, past] : roster.slots) question.last_worker[place] = past.last_worker;
  if (roster.mover) question.destinations[roster.mover->process] = roster.mover->to;
  if (truth_.config.rebalance_every) {
    question.limit = truth_.config.replicas_max;
    for (const StageLoad& stage : stage_balance(truth_)) question.capacities.push_back(capacity_of(stage));
  }
  std::set<ProcessIncarnation> busy;
  const auto take = [&](StageId stage, ReplicaId slot, ProcessIncarnation process) {
    busy.insert(process);
    const bool is_leaving = roster.leavers.contains(process);
    question.taken.push_back({stage, slot, roster.processes.find(process)->join.name, process, is_leaving});
  };
  for (std::uint32_t stage = 0; stage < truth_.config.stages; ++stage) {
    for (const ReplicaMember& member : roster.live(StageId{stage})) take(StageId{stage}, member.slot, member.process);
  }
  for (const Joiner& joiner : joining_.joiners()) take(joiner.order.stage, joiner.order.slot, joiner.process);
  const HostLoads loads = truth_.host_loads();
  for (const ProcessIncarnation process : roster.processes.alive(ProcessRole::kNode)) {
    const std::string name = roster.processes.name_of(process);
    if (roster.leavers.contains(process) || !truth_.starts.budget.may_start(name, now)) continue;
    const bool is_free = !busy.contains(process);
    if (!is_free && !truth_.config.share_devices) continue;
    const std::string& node = roster.processes.find(process)->join.name;
    auto& list = is_free ? question.free : question.sharing;
    list.push_back({{process, node, truth_.offer_of(process, loads)}, name, out_of_reach(process, now)});
  }
  return question;
}

// Neighbours and replicas of one stage talk to each other, and everybody who serves to storage.
std::set<StageId> JoinDuty::out_of_reach(ProcessIncarnation process, Instant now) const {
  std::set<StageId> stages;
  for (const ProcessIncarnation other : truth_.signs.unreached_by(process, now)) {
    const ProcessRecord* record = truth_.roster.processes.find(other);
    const bool is_storage = record != nullptr && record->join.role == ProcessRole::kStorage;
    const auto near = truth_.roster.stages_of(other);
    for (std::uint32_t stage = 0; stage < truth_.config.stages; ++stage) {
      const auto is_near = [&](StageId one) { return one.value <= stage + 1 && stage <= one.value + 1; };
      if (is_storage || std::ranges::any_of(near, is_near)) stages.insert(StageId{stage});
    }
  }
  return stages;
}

FittingQuestion JoinDuty::fitting_question(Instant now) const {
  const SupervisorConfig& config = truth_.config;
  FittingQuestion asked{question(now), {}, config.threads};
  for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
    ServedStage& served = asked.stages.emplace_back();
    if (stage < config.needs.size()) served.need = config.needs[stage];
    for (const ReplicaMember& member : truth_.roster.live(StageId{stage})) {
      served.offers.push_back(truth_.roster.processes.find(member.process)->join.offer);
    }
  }
  for (const Joiner& joiner : joining_.joiners()) {
    asked.stages[joiner.order.stage.value].offers.push_back(truth_.roster.processes.find(joiner.process)->join.offer);
  }
  return asked;
}

// A worker that was lost is started again within moments: a stage waits longer before another worker doubles up.
std::optional<Replacement> JoinDuty::next_place(Instant now) const {
  const FittingQuestion asked = fitting_question(now);
  auto place = plan_fitting_replacement(asked);
  if (place || !truth_.config.share_devices) return place;
  place = plan_take_over(asked.question);
  if (place) return place;
  const bool is_quiet = truth_.clock.watched() - changed_ >= truth_.config.gather_within;
  return plan_doubling(asked.question, is_quiet ? Doubling::kAnybody : Doubling::kWhoHadIt);
}

Answers JoinDuty::on(const WorkersChanged& /*changed*/, Instant now) {
  Answers answers;
  changed_ = truth_.clock.watched();
  place(now, answers);
  return answers;
}

void JoinDuty::place(Instant now, Answers& answers) {
  if (!truth_.may_join()) return;
  const View& view = truth_.view();
  while (const auto next = next_place(now)) {
    const Placement& place = next->placement;
    const Incarnation donor = truth_.roster.donor_of(place.stage, joining_.joiners());
    if (donor == Incarnation{}) return;  // nobody to copy: the stage is lost (P-29)
    const SpawnStage order{place.stage,
                           place.slot,
                           numbers_.take_actor(),
                           truth_.history.branch(),
                           view.committed_steps(),
                           view.optimizer_step(),
                           false,
                           donor,
                           view.position()};
    joining_.ask(order, place.process, truth_.clock.outside_rounds());
    answers.send(to_node_agent(place.process), order);
    answers.announce(RunEventKind::kReplicaStarting, name_of(order),
                     compose(next->reason, "; it copies replica ", donor, " as incarnation ", order.replica));
  }
  for (const FreeWorker& free : question(now).free) refuse(free, answers);
}

// Once for each process that fits no stage, whatever its machine serves beside it: what it gives does not change while
// it lives.
void JoinDuty::refuse(const FreeWorker& free, Answers& answers) {
  const MachineOffer& stated = truth_.roster.processes.find(free.worker.process)->join.offer;
  const std::string why = fits_nowhere(free.name, stated, truth_.config.needs, truth_.config.config_file);
  if (!why.empty() && refused_.insert(free.worker.process).second) {
    answers.announce(RunEventKind::kWorkerDoesNotFit, free.name, why);
  }
}

Answers JoinDuty::on(const ReadyInTraining& told, Instant /*now*/) {
  Answers answers;
  const StageReady& ready = told.ready;
  if (truth_.view().stage_of(ready.replica) == ready.stage) {
    joining_.member_is(ready);
  } else if (!joining_.is_ready(ready, truth_.clock.outside_rounds())) {
    answers.tell(StrangerReady{ready});
  }
  answers.tell(JoinersDue{});
  return answers;
}

Answers JoinDuty::on(const StageEnded& ended, Instant /*now*/) {
  Answers answers;
  if (truth_.is_ending()) return answers;
  const auto joiner = joining_.end(ended.replica);
  if (!joiner) return answers;
  answers.announce(RunEventKind::kStartFailed, compose("stage/", ended.stage, "/", joiner->order.slot), ended.reason);
  answers.tell(ReplicaFailed{joiner->process, ended.reason});
  answers.tell(WorkersChanged{});
  return answers;
}

Answers JoinDuty::on(const StateProgress& progress, Instant /*now*/) {
  const bool is_ours = progress.branch == truth_.history.branch() && progress.stage.value < truth_.config.stages;
  if (is_ours && !progress.is_shard) {
    joining_.arriving(progress, truth_.clock.outside_rounds());
  }
  return {};
}

Answers JoinDuty::on(const ProcessGone& gone, Instant /*now*/) {
  refused_.erase(gone.process);
  if (!truth_.is_ending()) (void)joining_.end_on(gone.process);
  return {};
}

// As in starting: under the same number, for a number starts once.
Answers JoinDuty::on(const LinkedAgain& linked, Instant /*now*/) {
  Answers answers;
  for (const Joiner& joiner : joining_.joiners()) {
    if (joiner.process == linked.process) answers.send(to_node_agent(linked.process), joiner.order);
  }
  return answers;
}

Answers JoinDuty::on(const BranchBegins& /*begins*/, Instant /*now*/) {
  Answers answers;
  for (const Joiner& joiner : joining_.end_all()) {
    answers.send(to_node_agent(joiner.process),
                 EndStage{joiner.order.stage, joiner.order.replica, "the run rolls back"});
  }
  return answers;
}

Answers JoinDuty::on(const TickCame& /*tick*/, Instant now) { return on(JoinersDue{}, now); }

Answers JoinDuty::on(const JoinersDue& /*due*/, Instant now) {
  Answers answers;
  if (!truth_.may_join()) return answers;
  place(now, answers);
  const bool is_done =
      joining_.holds_commit() && truth_.ballots.stages_without(truth_.view()).empty() && open_rounds(truth_).empty();
  const auto decisions =
      joining_.decide(truth_.view().committed_steps(), is_done ? StepBefore::kDone : StepBefore::kUnderWay,
                      truth_.clock.outside_rounds());
  for (const JoinDecision& decision : decisions) decided(decision, now, answers);
  return answers;
}

void JoinDuty::decided(const JoinDecision& decision, Instant now, Answers& answers) const {
  const Joiner& joiner = decision.joiner;
  const SpawnStage& order = joiner.order;
  const std::string worker = truth_.roster.processes.name_of(joiner.process);
  const auto end_it = [&](RunEventKind kind) {
    answers.announce(kind, name_of(order), compose("on ", worker, ": ", decision.reason));
    answers.send(to_node_agent(joiner.process), EndStage{order.stage, order.replica, decision.reason});
  };
  switch (decision.outcome) {
    case JoinOutcome::kAdmit:
      answers.append(
          AddReplica{order.stage, order.slot, order.replica, joiner.process, truth_.view().committed_steps()});
      answers.announce(RunEventKind::kReplicaAdded, name_of(order), compose("on ", worker, ", ", decision.reason));
      break;
    case JoinOutcome::kHold: answers.announce(RunEventKind::kCommitHeld, name_of(order), decision.reason); break;
    case JoinOutcome::kHoldOver:
      answers.announce(RunEventKind::kCommitReleased, name_of(order), decision.reason);
      break;
    case JoinOutcome::kDiffers:
      end_it(RunEventKind::kStateDiffers);
      answers.tell(ReplicaFailed{joiner.process, decision.reason});
      break;
    case JoinOutcome::kGiveUp:
      end_it(RunEventKind::kJoinGivenUp);
      answers.tell(WorkerRests{worker, now + joiner.holds.rest()});
      break;
  }
}

}  // namespace shoal
