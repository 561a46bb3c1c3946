// Leavers go one after the other: all that follows from one is there before the next.
#include "runtime/cluster/duties/draining.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal {

namespace {

// Says whether somebody who stays serves the stage.
[[nodiscard]] bool is_served_without(const Roster& roster, StageId stage,
                                     const std::vector<ProcessIncarnation>& drained) {
  return std::ranges::any_of(roster.live(stage), [&](const ReplicaMember& member) {
    return !roster.leavers.contains(member.process) && std::ranges::find(drained, member.process) == drained.end();
  });
}

// Says whether a worker is free that stays.
[[nodiscard]] bool has_spare(const Truth& truth, const std::vector<ProcessIncarnation>& drained) {
  const auto is_spare = [&](ProcessIncarnation process) {
    return truth.roster.stages_of(process).empty() && !truth.roster.leavers.contains(process) &&
           std::ranges::find(drained, process) == drained.end();
  };
  return std::ranges::any_of(truth.roster.processes.alive(ProcessRole::kNode), is_spare);
}

[[nodiscard]] std::string fate_of(const Truth& truth, ProcessIncarnation process,
                                  const std::vector<ProcessIncarnation>& drained) {
  const std::string name = truth.roster.processes.name_of(process);
  if (truth.roster.leavers.contains(process)) return name + " is leaving already";
  const auto stages = truth.roster.stages_of(process);
  if (stages.empty()) {
    const bool is_starting = truth.starts.replicas.is_on(process);
    return name + (is_starting ? " was about to serve and leaves before the start" : " served nothing and leaves");
  }
  const std::uint64_t steps = truth.view().committed_steps();
  if (truth.phase == RunPhase::kReturning) {
    return compose(name, " leaves after step ", steps,
                   ", when its state is saved if it is the last to serve a stage then; others are still coming back");
  }
  for (const StageId stage : stages) {
    if (is_served_without(truth.roster, stage, drained)) continue;
    const std::string last = compose(name, " is the last to serve stage ", stage, "; it leaves when ");
    if (has_spare(truth, drained)) return last + "another has copied its state and serves";
    return compose(last, "its state is saved after step ", steps);
  }
  return compose(name, " leaves after step ", steps);
}

}  // namespace

std::string fate_when_drained(const Truth& truth, const std::vector<ProcessIncarnation>& processes) {
  std::string fate;
  for (const ProcessIncarnation process : processes) {
    fate += (fate.empty() ? "" : "; ") + fate_of(truth, process, processes);
  }
  return fate;
}

Answers DrainDuty::on(const Leaving& leaving, Instant /*now*/) {
  const bool is_going_on = !truth_.ending.last_step.stopped() && !truth_.is_ending();
  const bool is_heard = truth_.roster.processes.is_alive(leaving.process) && is_going_on;
  Answers answers;
  if (is_heard) begin(leaving.process, leaving.reason, answers);
  return answers;
}

// The node repeats the wish from then on, so that the next spawner knows of it, too.
Answers DrainDuty::on(const DrainAsked& asked, Instant /*now*/) {
  Answers answers;
  if (begin(asked.process, asked.reason, answers)) {
    answers.send(to_node_agent(asked.process), LeaveRun{asked.reason});
  }
  return answers;
}

bool DrainDuty::begin(ProcessIncarnation process, const std::string& reason, Answers& answers) {
  if (leavers_.contains(process)) return false;
  if (truth_.roster.stages_of(process).empty()) {
    answers.tell(LeaverGoes{process, reason});
    return false;
  }
  const std::string name = truth_.roster.processes.name_of(process);
  leavers_.add(process, name, reason);
  answers.announce(RunEventKind::kDraining, name, reason);
  answers.tell(WorkersChanged{});  // a free worker takes its place
  answers.perform(AvoidReplicas{truth_.roster.leaving()});
  return true;
}

Answers DrainDuty::on(const DrainExpected& expected, Instant now) {
  leavers_.expect(expected.name, expected.reason, now);
  return {};
}

// A node that died before it left, or while it was leaving, is meant by what was said of it. So is one that was killed
// before it heard that it is out: its keeper knows of nothing but the kill.
Answers DrainDuty::on(const ProcessJoined& joined, Instant now) {
  using KeeperEnds = ProcessDirectory::KeeperEnds;
  Answers answers;
  const ProcessDirectory& processes = truth_.roster.processes;
  const KeeperEnds ends = processes.is_keeper_to_end(joined.process);
  if (ends == KeeperEnds::kByEviction) {
    constexpr const char* kWhy = "its keeper started it again, which a person may do";
    answers.tell(PutOut{joined.process});
    answers.send(to_node_agent(joined.process), end_of_lost(true));
    answers.tell(GivenUp{joined.process, kWhy, kWasEvicted});
    return answers;
  }
  const auto why = leavers_.take_returned(processes.name_of(joined.process), now);
  if (why || ends == KeeperEnds::kByDrain) {
    answers.tell(LeaverGoes{joined.process, why.value_or("it had left when its keeper started it again")});
  }
  return answers;
}

// LeaveRun may have been lost with the link. A node that leaves already ignores a repeat.
Answers DrainDuty::on(const LinkedAgain& linked, Instant /*now*/) {
  Answers answers;
  if (const auto reason = leavers_.reason_of(linked.process)) {
    answers.send(to_node_agent(linked.process), LeaveRun{*reason});
  }
  return answers;
}

Answers DrainDuty::on(const ProcessGone& gone, Instant now) {
  leavers_.died(gone.process, now);
  return {};
}

Answers DrainDuty::on(const PutOut& out, Instant /*now*/) {
  leavers_.gone(out.process);
  return {};
}

Answers DrainDuty::on(const LeaversDue& /*due*/, Instant /*now*/) {
  Answers answers;
  for (const auto& [process, reason] : truth_.leavers_not_missed()) answers.tell(LeaverGoes{process, reason});
  return answers;
}

Answers DrainDuty::on(const SavedLeaversDue& /*due*/, Instant /*now*/) {
  if (!truth_.is_training() || truth_.ending.last_step.is_committed()) return {};
  if (!truth_.checkpoints.has(truth_.view().committed_steps()) || !truth_.last_that_leaves()) return {};
  Answers answers;
  answers.tell(StepForgotten{});  // what is done of the next step goes with them
  answers.tell(AllLeaversDue{});
  return answers;
}

Answers DrainDuty::on(const AllLeaversDue& /*due*/, Instant /*now*/) {
  Answers answers;
  for (const auto& [process, reason] : leavers_.all()) answers.tell(LeaverGoes{process, reason});
  return answers;
}

// Its replicas are removed by the loss of their process, like anybody's.
Answers DrainDuty::on(const LeaverGoes& goes, Instant /*now*/) {
  Answers answers;
  leavers_.gone(goes.process);
  answers.send(to_node_agent(goes.process), EndProcess{goes.reason, 0, true});
  answers.tell(GivenUp{goes.process, goes.reason, kLeft});
  return answers;
}

}  // namespace shoal
