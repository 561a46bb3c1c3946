// Decides which actors of the spawner's process are given up though they have not ended: they do not answer (P-21a).
//
// Sync groups and the data loader keep nothing that a successor needs (P-14, P-21), work for microseconds at a time,
// and all replicas wait for them: one that answers no question for a second costs more than a new one. The silent one
// does no harm if it lives on: its epochs are lower and its votes void (P-21, P-22). An actor without an answer since
// its start has all of dead_after; patience doubles with every replacement of the last minute, up to dead_after:
// where all of them are slow, new ones are no faster. The router of the process is watched like them, with more
// patience: it has no successor, so the process has. Time counts only while the supervisor looked. Pure: time comes in.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/time/watched_time.h"

namespace shoal {

struct SilentChild {
  std::string name;
  Duration silence;
};

class ChildWatch {
 public:
  static constexpr Duration kAskEvery = std::chrono::milliseconds(250);
  static constexpr Duration kRemembered = std::chrono::minutes(1);  // replacements

  // patience: with one that was never replaced.
  ChildWatch(Duration patience, Duration dead_after)
      : patience_(std::min(patience, dead_after)), dead_after_(dead_after) {}

  // A child of this name starts, maybe in the place of one that ended or was silent.
  void started(const std::string& name, Instant now);
  void ended(const std::string& name);
  void answered(const std::string& name, Instant now);
  // True when it is time to ask all children if they are there. Call it several times per kAskEvery.
  [[nodiscard]] bool is_time_to_ask(Instant now);
  // Since it started, answered, or was named; zero: it is not there.
  [[nodiscard]] Duration silence_of(const std::string& name, Instant now);
  // Takes those that have been silent for too long since they started, answered, or were named here.
  [[nodiscard]] std::vector<SilentChild> take_silent(Instant now);

 private:
  struct Child {
    Duration heard_at{};  // on our watch
    bool is_there = false;
    bool has_answered = false;
    std::deque<Duration> replaced_at{};
  };
  [[nodiscard]] Duration patience_with(Child& child) const;

  Duration patience_, dead_after_;
  WatchedTime time_{2 * kAskEvery};
  Duration asked_at_ = -kAskEvery;
  std::map<std::string, Child> children_;
};

}  // namespace shoal
