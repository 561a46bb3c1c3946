// Tells which processes have been silent for so long that something must be wrong: a phi-accrual failure detector.
//
// Hayashibara, Defago, Yared, Katayama, "The phi accrual failure detector" (SRDS 2004): from the times between a
// process's heartbeats (mean and deviation of the last hundred) phi = -log10(P(a heartbeat comes still later)), so that
// a jittery link is given more time than a steady one. Two fixed bounds hold beside it: no process
// is dead before dead_floor(), every silent one is after dead_after.
//
// Time counts only while this process looked (watched_time.h). Slow is not dead: a process that sends heartbeats lives,
// however slowly it works. Pure: time comes in, verdicts come out, each with its reason.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/clock.h"
#include "runtime/base/time/watched_time.h"

namespace shoal {

struct DetectorLimits {
  Duration expected = std::chrono::milliseconds(500);        // between two heartbeats
  Duration dead_after = std::chrono::seconds(10);            // silence that nothing excuses
  Duration relink_within = std::chrono::milliseconds(1500);  // from the loss of its link to its next heartbeat
  double phi_suspected = 8;                                  // one false suspicion in 10^8 heartbeats
  double phi_dead = 12;

  // Silence within which nobody is dead.
  [[nodiscard]] Duration dead_floor() const;
};

enum class Health : std::uint8_t { kGood, kSuspected, kDead };

struct HealthChange {
  ProcessIncarnation process;
  Health health = Health::kGood;
  std::string reason;
};

class FailureDetector {
 public:
  explicit FailureDetector(DetectorLimits limits) : limits_(limits) {}

  // From now on a heartbeat is expected from it.
  void watch(ProcessIncarnation process, Instant now);
  void forget(ProcessIncarnation process) { peers_.erase(process); }
  void heard(ProcessIncarnation process, Instant now);
  // Its link broke: it has relink_within to be heard again.
  void link_lost(ProcessIncarnation process, const std::string& reason, Instant now);

  // Returns what has changed since the last call. Call it several times per interval. The dead are named once.
  [[nodiscard]] std::vector<HealthChange> look(Instant now);

  // How long it has been silent while we looked.
  [[nodiscard]] Duration silence(ProcessIncarnation process) const;
  [[nodiscard]] double phi(ProcessIncarnation process) const;
  [[nodiscard]] Health health(ProcessIncarnation process) const;
  // Time up to the last look that did not count, because we were away.
  [[nodiscard]] Duration away() const { return time_.away(); }

 private:
  struct Rhythm {  // rhythm of heartbeats, in seconds
    double mean = 0;
    double deviation = 0;
  };
  struct Peer {
    Duration last_heard{};  // on our watch
    std::deque<double> intervals;
    std::optional<Duration> link_lost_at;
    std::string link_lost_why;
    Health health = Health::kGood;
  };

  [[nodiscard]] Rhythm rhythm_of(const Peer& peer) const;
  [[nodiscard]] double phi_of(const Peer& peer) const;
  [[nodiscard]] Health judge(const Peer& peer) const;
  [[nodiscard]] std::string explain(const Peer& peer) const;

  DetectorLimits limits_;
  std::map<ProcessIncarnation, Peer> peers_;
  WatchedTime time_{std::chrono::seconds(1)};
};

}  // namespace shoal
