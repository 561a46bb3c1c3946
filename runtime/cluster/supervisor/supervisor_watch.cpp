// Signs of life and their absence: heartbeats, broken links, processes that do not reach each other.
#include "runtime/cluster/supervisor/supervisor.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"

namespace shoal {

SupervisorEffects SupervisorCore::hear(const Heartbeat& heartbeat, Instant now) {
  if (roster_.processes.is_alive(heartbeat.process)) {
    heard_of(heartbeat.process, now);
    const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    const HeartbeatEcho echo{heartbeat.process, heartbeat.sequence, heartbeat.sent_ns, now_ns, now_ns};
    if (heartbeat.sent_ns != 0) send(to_node_agent(heartbeat.process), echo);
    health_[heartbeat.process] = heartbeat.actors;
  } else if (roster_.processes.find(heartbeat.process) != nullptr && phase_ < Phase::kEnding) {
    send(to_node_agent(heartbeat.process),
         EndProcess{"it was given up as lost; its keeper starts a new one", kRejoinStatus});
  }
  return take_effects();
}

void SupervisorCore::heard_of(ProcessIncarnation process, Instant now) {
  detector_.heard(process, now);
  roster_.processes.set_linked(process, true);
}

// Its link broke and it dialled again, or it has not heard its welcome yet. What was on its way may be lost with the
// link: its router asks for the journal by itself, replicas that were starting there start anew, and what it serves is
// compared.
void SupervisorCore::link_again(const Join& join, ProcessIncarnation process, Instant now) {
  heard_of(process, now);
  std::erase_if(starting_, [&](const Starting& starting) { return starting.process == process; });
  (void)joins_.end_on(process);
  compare_served(join, process);
  send_peers();
  if (phase_ == Phase::kTraining) remove_dead(join.name + " came back without it", now);
  place_if_enough(now);
  tend_joiners(now);
}

// A link that breaks is not yet a process that is gone: it has time to come back, unless nobody listens there any more.
SupervisorEffects SupervisorCore::hear(const ProcessLost& lost, Instant now) {
  const ProcessRecord* record = roster_.processes.find(lost.process);
  if (record == nullptr || !record->is_alive || phase_ >= Phase::kEnding) return gone(lost.process, lost.reason, now);
  detector_.link_lost(lost.process, lost.reason, now);
  roster_.processes.set_linked(lost.process, false);
  effects_.push_back(ProbeProcess{lost.process, record->join.endpoint});
  probes_.asked(lost.process, now);
  return take_effects();
}

SupervisorEffects SupervisorCore::gone(ProcessIncarnation process, const std::string& reason, Instant now) {
  lose_process(process, reason, now);
  return conclude(now);
}

SupervisorEffects SupervisorCore::hear(const PeerUnreachable& complaint, Instant now) {
  if (roster_.processes.is_alive(complaint.process) && roster_.processes.is_alive(complaint.peer)) {
    complaints_.hear(complaint.process, complaint.peer, now);
  }
  return take_effects();
}

void SupervisorCore::watch(Instant now) {
  const auto is_away = [this](ProcessIncarnation process) {
    return roster_.processes.is_alive(process) && !roster_.processes.find(process)->is_linked;
  };
  for (const ProcessIncarnation process : probes_.take_due(now, is_away)) {
    effects_.push_back(ProbeProcess{process, roster_.processes.find(process)->join.endpoint});
  }
  for (const HealthChange& change : detector_.look(now)) {
    const std::string name = roster_.processes.name_of(change.process);
    switch (change.health) {
      case Health::kGood: announce("trusted", name, change.reason); break;
      case Health::kSuspected: announce("suspected", name, change.reason); break;
      case Health::kDead: lose_process(change.process, change.reason, now); break;
    }
  }
  if (phase_ != Phase::kTraining) return;
  if (const auto goes = complaints_.judge(roster_.parties(), now)) lose_process(goes->process, goes->reason, now);
}

std::string SupervisorCore::state_of(ProcessIncarnation process, const std::string& usual) const {
  if (detector_.health(process) == Health::kGood) return usual;
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(detector_.silence(process));
  return compose(usual, ", silent for ", silent.count(), " s");
}

std::string SupervisorCore::explain_silence() const {
  std::string text;
  for (const ProcessIncarnation process : roster_.processes.alive()) {
    const std::string state = state_of(process, "");
    if (!state.empty()) text += compose("; ", roster_.processes.name_of(process), " is", state.substr(1));
  }
  const std::string split = complaints_.explain(roster_.parties());
  return split.empty() ? text : text + "; " + split;
}

}  // namespace shoal
