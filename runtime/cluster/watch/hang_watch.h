// Which replica of a process hangs: it has been at one piece of work for many times as long as it ever was.
//
// Slow is not dead, and nobody knows how long a model's work may take: so a replica is judged by its own past. It is
// asked whether it is there and answers between two pieces of work; how long it took to answer tells how long they are.
// Until some answers had to wait for work, nothing is known and nobody is judged. Time counts only while its process
// looked. Pure: time comes in.
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "messages/ids.h"
#include "runtime/base/clock.h"
#include "runtime/cluster/watch/watched_time.h"

namespace shoal {

struct Hang {
  Incarnation replica;
  Duration busy;
  Duration longest;  // before
};

class HangWatch {
 public:
  static constexpr int kWaitsToKnow = 8;
  static constexpr Duration kWait = std::chrono::milliseconds(2);  // a quicker answer did not wait for work
  static constexpr int kTimesLongest = 20;

  // True: it is to be asked now, for it owes no answer.
  [[nodiscard]] bool asks(Incarnation replica, Instant now) {
    time_.look(now);
    Replica& one = replicas_[replica];
    if (one.asked_at) return false;
    one.asked_at = time_.watched();
    return true;
  }
  void answered(Incarnation replica, Instant now) {
    time_.look(now);
    const auto one = replicas_.find(replica);
    if (one == replicas_.end() || !one->second.asked_at) return;
    const Duration took = time_.watched() - *one->second.asked_at;
    one->second.asked_at.reset();
    one->second.longest = std::max(one->second.longest, took);
    one->second.waits += took >= kWait ? 1 : 0;
  }
  void forget(Incarnation replica) { replicas_.erase(replica); }
  // Nobody hangs before `least`.
  [[nodiscard]] std::optional<Hang> find(Duration least, Instant now) {
    time_.look(now);
    for (const auto& [replica, one] : replicas_) {
      if (!one.asked_at || one.waits < kWaitsToKnow) continue;
      const Duration busy = time_.watched() - *one.asked_at;
      if (busy >= std::max(least, kTimesLongest * one.longest)) return Hang{replica, busy, one.longest};
    }
    return std::nullopt;
  }

 private:
  struct Replica {
    std::optional<Duration> asked_at;  // on our watch; none: it owes no answer
    Duration longest{};
    int waits = 0;
  };

  WatchedTime time_{std::chrono::seconds(2)};
  std::map<Incarnation, Replica> replicas_;
};

}  // namespace shoal
