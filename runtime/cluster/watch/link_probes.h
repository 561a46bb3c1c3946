// Decides when to ask again if a process still listens whose link broke. Pure: time comes in.
//
// Once is not enough: a process whose router died listens until its last words are written, and is gone a moment later.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/clock.h"

namespace shoal {

class LinkProbes {
 public:
  static constexpr Duration kAgain = std::chrono::milliseconds(200);

  void asked(ProcessIncarnation process, Instant now) { asked_at_[process] = now; }
  // Returns the processes to ask again now. One that came back or was given up is forgotten.
  [[nodiscard]] std::vector<ProcessIncarnation> take_due(Instant now,
                                                         const std::function<bool(ProcessIncarnation)>& is_away) {
    std::erase_if(asked_at_, [&](const auto& asked) { return !is_away(asked.first); });
    std::vector<ProcessIncarnation> due;
    for (auto& [process, asked_at] : asked_at_) {
      if (now - asked_at < kAgain) continue;
      asked_at = now;
      due.push_back(process);
    }
    return due;
  }

 private:
  std::map<ProcessIncarnation, Instant> asked_at_;
};

}  // namespace shoal
