// Passes on what is heard; judges with every tick.
#include "runtime/cluster/duties/watching.h"

namespace shoal {
namespace {

constexpr Duration kRestAfterExpulsion = std::chrono::seconds(15);  // peers complain after 3 s of dialling in vain

}  // namespace

Answers WatchDuty::on(const Heartbeat& heartbeat, Instant now) {
  Answers answers;
  const ProcessDirectory& processes = truth_.roster.processes;
  const ProcessRecord* record = processes.find(heartbeat.process);
  if (processes.is_alive(heartbeat.process)) {
    signs_.hear(heartbeat, now);
    const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    const HeartbeatEcho echo{heartbeat.process, heartbeat.sequence, heartbeat.sent_ns, now_ns, now_ns};
    if (heartbeat.sent_ns != 0) answers.send(to_node_agent(heartbeat.process), echo);
  } else if (record != nullptr && !truth_.is_ending()) {
    answers.send(to_node_agent(heartbeat.process), end_of_lost(record->is_evicted));
  }
  return answers;
}

Answers WatchDuty::on(const ProcessLost& lost, Instant now) {
  Answers answers;
  const ProcessRecord* record = truth_.roster.processes.find(lost.process);
  if (record == nullptr || !record->is_alive || truth_.is_ending())
    return on(ProcessDied{lost.process, lost.reason}, now);
  signs_.hear(lost, now);
  answers.perform(ProbeProcess{lost.process, record->join.endpoint});
  return answers;
}

Answers WatchDuty::on(const ProcessDied& died, Instant /*now*/) {
  Answers answers;
  answers.tell(GivenUp{died.process, died.reason});
  answers.tell(CommitDue{});
  return answers;
}

Answers WatchDuty::on(const PeerUnreachable& complaint, Instant now) {
  const ProcessDirectory& processes = truth_.roster.processes;
  if (processes.is_alive(complaint.process) && processes.is_alive(complaint.peer)) signs_.hear(complaint, now);
  return {};
}

Answers WatchDuty::on(const ProcessJoined& joined, Instant now) {
  signs_.expect(joined.process, now);
  return {};
}

Answers WatchDuty::on(const CameBack& back, Instant now) {
  signs_.expect(back.join.previous, now);
  return {};
}

Answers WatchDuty::on(const LinkedAgain& linked, Instant now) {
  signs_.heard_of(linked.process, now);
  return {};
}

Answers WatchDuty::on(const ProcessGone& gone, Instant /*now*/) {
  signs_.forget(gone.process);
  return {};
}

Answers WatchDuty::on(const TickCame& /*tick*/, Instant now) {
  Answers answers;
  const ProcessDirectory& processes = truth_.roster.processes;
  for (const ProcessIncarnation process : signs_.take_probes(processes, now)) {
    answers.perform(ProbeProcess{process, processes.find(process)->join.endpoint});
  }
  for (const HealthChange& change : signs_.look(now)) {
    const std::string name = processes.name_of(change.process);
    switch (change.health) {
      case Health::kGood: answers.announce(RunEventKind::kTrusted, name, change.reason); break;
      case Health::kSuspected: answers.announce(RunEventKind::kSuspected, name, change.reason); break;
      case Health::kDead: answers.tell(GivenUp{change.process, change.reason}); break;
    }
  }
  answers.tell(ComplaintsDue{});
  return answers;
}

Answers WatchDuty::on(const ComplaintsDue& /*due*/, Instant now) {
  Answers answers;
  if (!truth_.is_training()) return answers;
  if (const auto goes = signs_.judge(truth_.roster.parties(), now)) {
    // Its keeper starts it again at once: it serves nothing until it is known whom it reaches by then.
    answers.tell(WorkerRests{truth_.roster.processes.name_of(goes->process), now + kRestAfterExpulsion});
    answers.tell(GivenUp{goes->process, goes->reason});
  } else if (const auto cut = signs_.dividing_cut(truth_.roster.parties(), now); cut && could_start_apart(now)) {
    answers.tell(RunDivided{*cut + ", and none can be spared: all start again among those who reach each other"});
  }
  return answers;
}

// P-29c. A run that is stopped ends behind what is committed (P-35a).
bool WatchDuty::could_start_apart(Instant now) const {
  if (truth_.ending.last_step.stopped() || truth_.history.is_entry_asked()) return false;
  const std::size_t workers = truth_.workers_in_reach(now).size();
  return workers >= truth_.config.stages || (truth_.config.share_devices && workers > 0);
}

}  // namespace shoal
