// Judges which processes are lost, by their heartbeats, their links, and the processes that others do not reach.
//
//   silence          judged by the rhythm of its heartbeats (failure_detector.h)
//   a broken link    time to be heard again; meanwhile it is asked if its port still listens (link_probes.h)
//   two that do not reach each other   one of them goes (complaints.h)
//
// The caller learns which processes are lost and why, and acts. Pure: time comes in. Bounded by the known processes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/supervision.h"
#include "runtime/cluster/process_directory.h"
#include "runtime/cluster/watch/complaints.h"
#include "runtime/cluster/watch/failure_detector.h"
#include "runtime/cluster/watch/link_probes.h"

namespace shoal {

class SignsOfLife {
 public:
  SignsOfLife(DetectorLimits silence, ComplaintLimits complaints) : detector_(silence), complaints_(complaints) {}

  // From now on it is expected to give some.
  void expect(ProcessIncarnation process, Instant now) { detector_.watch(process, now); }
  void forget(ProcessIncarnation process);

  // Takes a sign of a process that is expected.
  void heard_of(ProcessIncarnation process, Instant now) { detector_.heard(process, now); }
  void hear(const Heartbeat& heartbeat, Instant now);
  void hear(const PeerUnreachable& complaint, Instant now);
  // Its link broke, and whether anybody listens there is being asked.
  void hear(const ProcessLost& lost, Instant now);

  // Returns what has changed since the last look; the dead are named once.
  [[nodiscard]] std::vector<HealthChange> look(Instant now) { return detector_.look(now); }
  // Returns the processes that are to be asked again, at their addresses, if they still listen.
  [[nodiscard]] std::vector<ProcessIncarnation> take_probes(const ProcessDirectory& processes, Instant now);
  // Returns the one that has to go because others do not reach it; at most one at a time.
  [[nodiscard]] std::optional<Expulsion> judge(const std::vector<Party>& parties, Instant now) {
    return complaints_.judge(parties, now);
  }

  // Names two replicas between which the step stands (complaints.h).
  [[nodiscard]] std::optional<std::string> lasting_cut(const std::vector<Party>& parties, Instant now) const {
    return complaints_.lasting(parties, now);
  }
  // The same, and no link is waited for any more.
  [[nodiscard]] std::optional<std::string> dividing_cut(const std::vector<Party>& parties, Instant now) const {
    return complaints_.dividing(parties, now);
  }
  [[nodiscard]] std::vector<ProcessIncarnation> unreached_by(ProcessIncarnation process, Instant now) const {
    return complaints_.unreached_by(process, now);
  }

  // True for a process that may be dead: what speaks against it cannot be held to be true.
  [[nodiscard]] bool is_doubtful(ProcessIncarnation process) const;
  // "serving, silent for 3 s"
  [[nodiscard]] std::string state_of(ProcessIncarnation process, const std::string& usual) const;
  // "; node1 is silent for 3 s; node2 and node3 cannot reach each other"; empty when all is well.
  [[nodiscard]] std::string explain(const std::vector<Party>& parties) const;
  // The actors of its process as its last heartbeat told; null: it has told nothing yet.
  [[nodiscard]] const std::vector<ActorHealth>* told_by(ProcessIncarnation process) const;

 private:
  FailureDetector detector_;
  Complaints complaints_;
  LinkProbes probes_;
  std::map<ProcessIncarnation, std::vector<ActorHealth>> told_;
};

}  // namespace shoal
