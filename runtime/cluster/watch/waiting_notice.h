// Decides when a person is told why a run does not train: not at once, because most waits are short, then at each new
// reason, but not too often. Pure: time comes in.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/clock.h"

namespace shoal {

class WaitingNotice {
 public:
  static constexpr Duration kFirst = std::chrono::seconds(5);   // waiting before the first word
  static constexpr Duration kAgain = std::chrono::seconds(30);  // between two notices

  // True: now is the time to say it. what: the reason of the wait, without its time; empty: no wait.
  [[nodiscard]] bool is_due(const std::string& what, Instant now) {
    if (what.empty()) {
      since_.reset();
      said_.clear();
      return false;
    }
    if (!since_) since_ = now;
    const bool is_too_soon = now - *since_ < kFirst || (said_at_ && now - *said_at_ < kAgain);
    if (is_too_soon || what == said_) return false;
    said_ = what;
    said_at_ = now;
    return true;
  }

 private:
  std::optional<Instant> since_;
  std::optional<Instant> said_at_;
  std::string said_;
};

}  // namespace shoal
