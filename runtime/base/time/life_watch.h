// Decides when a process that shows no sign of life is to be killed by its keeper: a frozen one ends by nothing else.
// A process judges its keeper in the same way, and only says so.
//
// Signs come with the silence that the process itself allows from there on. Before the first sign nothing is expected
// of it, and nothing after one that allows any silence: it ends. Silence counts only while the keeper looked
// (watched_time.h): when a whole machine was suspended, nobody is killed as it wakes. Pure: time comes in.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/base/time/watched_time.h"

namespace shoal {

class LifeWatch {
 public:
  // Silence that no process is killed for, however little it allows itself: signs and looks are this coarse.
  static constexpr Duration kLeastPatience = std::chrono::seconds(3);
  static constexpr Duration kAnySilence = Duration::zero();

  // sign: the silence allowed by the newest one since the last look. Call it once a second or more often.
  void look(std::optional<Duration> sign, Instant now) {
    time_.look(now);
    if (!sign) return;
    allowed_ = *sign;
    heard_at_ = time_.watched();
  }

  // Returns how long it has been silent, once that is too long.
  [[nodiscard]] std::optional<Duration> silent_too_long() const {
    const Duration silent = time_.watched() - heard_at_;
    const bool is_owed = allowed_ != kAnySilence;
    return is_owed && silent >= std::max(allowed_, kLeastPatience) ? std::optional(silent) : std::nullopt;
  }

 private:
  WatchedTime time_{std::chrono::seconds(2)};
  Duration allowed_ = kAnySilence;
  Duration heard_at_{};
};

}  // namespace shoal
