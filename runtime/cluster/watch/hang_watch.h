// Finds the replica of a process that hangs: one piece of work takes many times as long as any before (P-28b).
//
// Slow is not dead, and no rule knows how long a model's work takes: so a replica is judged by its own past, which it
// tells with every answer; it answers between two pieces of work. Until it has done some, nothing is known: then a
// piece has an hour. Time counts only while its process looked. Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "messages/ids.h"
#include "runtime/base/clock.h"
#include "runtime/base/time/watched_time.h"

namespace shoal {

struct Hang {
  Incarnation replica;
  Duration busy;
  Duration longest;  // before
};

class HangWatch {
 public:
  static constexpr std::uint64_t kPiecesToKnow = 8;
  static constexpr int kTimesLongest = 20;
  static constexpr Duration kOfBeginners = std::chrono::hours(1);

  // True: it is to be asked now, for it owes no answer.
  [[nodiscard]] bool asks(Incarnation replica, Instant now) {
    time_.look(now);
    Replica& one = replicas_[replica];
    if (one.asked_at) return false;
    one.asked_at = time_.watched();
    return true;
  }
  // pieces: of work, that it has done in its life; longest: one of them took.
  void answered(Incarnation replica, std::uint64_t pieces, Duration longest) {
    const auto one = replicas_.find(replica);
    if (one != replicas_.end()) one->second = Replica{{}, pieces, longest};
  }
  void forget(Incarnation replica) { replicas_.erase(replica); }
  // Nobody hangs before `least`.
  [[nodiscard]] std::optional<Hang> find(Duration least, Instant now) {
    time_.look(now);
    for (const auto& [replica, one] : replicas_) {
      if (!one.asked_at) continue;
      const Duration busy = time_.watched() - *one.asked_at;
      const Duration patience = one.pieces < kPiecesToKnow ? kOfBeginners : Duration{};
      if (busy >= std::max({least, patience, kTimesLongest * one.longest})) return Hang{replica, busy, one.longest};
    }
    return std::nullopt;
  }

 private:
  struct Replica {
    std::optional<Duration> asked_at;  // on our watch; none: it owes no answer
    std::uint64_t pieces = 0;
    Duration longest{};
  };

  WatchedTime time_{std::chrono::seconds(2)};
  std::map<Incarnation, Replica> replicas_;
};

}  // namespace shoal
