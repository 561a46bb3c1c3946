// Puts together what the three judges know of a process.
#include "runtime/cluster/watch/signs_of_life.h"

#include "runtime/base/compose.h"

namespace shoal {

void SignsOfLife::forget(ProcessIncarnation process) {
  detector_.forget(process);
  complaints_.forget(process);
  told_.erase(process);
}

void SignsOfLife::hear(const Heartbeat& heartbeat, Instant now) {
  heard_of(heartbeat.process, now);
  told_[heartbeat.process] = heartbeat.actors;
}

void SignsOfLife::hear(const PeerUnreachable& complaint, Instant now) {
  const PairLink link = complaint.silent_ms == 0 ? PairLink::kStands : PairLink::kNone;
  complaints_.hear(complaint.process, complaint.peer, link, now);
}

void SignsOfLife::hear(const ProcessLost& lost, Instant now) {
  detector_.link_lost(lost.process, lost.reason, now);
  probes_.asked(lost.process, now);
}

std::vector<ProcessIncarnation> SignsOfLife::take_probes(const ProcessDirectory& processes, Instant now) {
  return probes_.take_due(now, [&processes](ProcessIncarnation process) {
    const ProcessRecord* record = processes.find(process);
    return record != nullptr && record->is_alive && !record->is_linked;
  });
}

bool SignsOfLife::is_doubtful(ProcessIncarnation process) const { return detector_.health(process) != Health::kGood; }

std::string SignsOfLife::state_of(ProcessIncarnation process, const std::string& usual) const {
  if (!is_doubtful(process)) return usual;
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(detector_.silence(process));
  return compose(usual, ", silent for ", silent.count(), " s");
}

std::string SignsOfLife::explain(const std::vector<Party>& parties) const {
  std::string text;
  for (const Party& party : parties) {
    const std::string state = state_of(party.process, "");
    if (!state.empty()) text += compose("; ", party.name, " is", state.substr(1));
  }
  const std::string split = complaints_.explain(parties);
  return split.empty() ? text : text + "; " + split;
}

const std::vector<ActorHealth>* SignsOfLife::told_by(ProcessIncarnation process) const {
  const auto told = told_.find(process);
  return told == told_.end() ? nullptr : &told->second;
}

}  // namespace shoal
