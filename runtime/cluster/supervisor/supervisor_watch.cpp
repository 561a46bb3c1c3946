// Signs of life and their absence: heartbeats, broken links, processes that do not reach each other (P-28b).
#include "runtime/cluster/supervisor/supervisor.h"

#include "runtime/base/restart_policy.h"

namespace shoal {

SupervisorEffects SupervisorCore::hear(const Heartbeat& heartbeat, Instant now) {
  if (roster_.processes.is_alive(heartbeat.process)) {
    signs_.hear(heartbeat, now);
    roster_.processes.set_linked(heartbeat.process, true);
    const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    const HeartbeatEcho echo{heartbeat.process, heartbeat.sequence, heartbeat.sent_ns, now_ns, now_ns};
    if (heartbeat.sent_ns != 0) send(to_node_agent(heartbeat.process), echo);
  } else if (roster_.processes.find(heartbeat.process) != nullptr && phase_ < Phase::kEnding) {
    end_lost(heartbeat.process);
  }
  return take_effects();
}

// It was lost, and speaks: it may have been frozen or cut off when it was told.
void SupervisorCore::end_lost(ProcessIncarnation process) {
  if (roster_.processes.find(process)->is_evicted) {
    constexpr auto kEvictedStatus = static_cast<std::uint32_t>(exit_code(Error::kRefused));
    return send(to_node_agent(process), EndProcess{"it was evicted while it was away", kEvictedStatus});
  }
  send(to_node_agent(process), EndProcess{"it was given up as lost; its keeper starts a new one", kRejoinStatus});
}

// Its link broke and it dialled again, or it has not heard its welcome yet. What was on its way may be lost with the
// link: its router asks for the journal by itself, replicas that are to start there are ordered once more under their
// own numbers, and what it serves is compared.
void SupervisorCore::link_again(const Join& join, ProcessIncarnation process, Instant now) {
  signs_.heard_of(process, now);
  roster_.processes.set_linked(process, true);
  order_again(process);
  compare_served(join, process);
  send_peers();
  if (phase_ == Phase::kTraining) remove_dead(join.name + " came back without it", now);
  place_if_enough(now);
  tend_joiners(now);
}

// Whoever has the order already starts nothing for it, and says so if the replica has ended meanwhile (node_agent): a
// number of its own for each Join would make as many actors as there are Joins.
void SupervisorCore::order_again(ProcessIncarnation process) {
  for (const StartingReplica& starting : starting_.all()) {
    if (starting.process == process) send(to_node_agent(process), starting.order);
  }
  for (const Joiner& joiner : joins_.joiners()) {
    if (joiner.process == process) send(to_node_agent(process), joiner.order);
  }
}

// A link that breaks is not yet a process that is gone: it has time to come back, unless nobody listens there any more.
SupervisorEffects SupervisorCore::hear(const ProcessLost& lost, Instant now) {
  const ProcessRecord* record = roster_.processes.find(lost.process);
  if (record == nullptr || !record->is_alive || phase_ >= Phase::kEnding) return gone(lost.process, lost.reason, now);
  signs_.hear(lost, now);
  roster_.processes.set_linked(lost.process, false);
  effects_.push_back(ProbeProcess{lost.process, record->join.endpoint});
  return take_effects();
}

SupervisorEffects SupervisorCore::gone(ProcessIncarnation process, const std::string& reason, Instant now) {
  lose_process(process, reason, now);
  return conclude(now);
}

SupervisorEffects SupervisorCore::hear(const PeerUnreachable& complaint, Instant now) {
  if (roster_.processes.is_alive(complaint.process) && roster_.processes.is_alive(complaint.peer)) {
    signs_.hear(complaint, now);
  }
  return take_effects();
}

void SupervisorCore::watch(Instant now) {
  for (const ProcessIncarnation process : signs_.take_probes(roster_.processes, now)) {
    effects_.push_back(ProbeProcess{process, roster_.processes.find(process)->join.endpoint});
  }
  for (const HealthChange& change : signs_.look(now)) {
    const std::string name = roster_.processes.name_of(change.process);
    switch (change.health) {
      case Health::kGood: announce("trusted", name, change.reason); break;
      case Health::kSuspected: announce("suspected", name, change.reason); break;
      case Health::kDead: lose_process(change.process, change.reason, now); break;
    }
  }
  if (phase_ != Phase::kTraining) return;
  if (const auto goes = signs_.judge(roster_.parties(), now)) lose_process(goes->process, goes->reason, now);
}

}  // namespace shoal
