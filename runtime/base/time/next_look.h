// Decides when an actor looks again at what may be due: soon while something is about to be, else seldom.
//
// Every look wakes three threads, and on a machine whose cores all compute each waking takes one from a computing
// thread (launch/experiments/speed.md). Pure: time comes in; the actor sends itself a Tick after each pause that is
// returned here.
#pragma once

#include <chrono>
#include <optional>

#include "runtime/base/clock.h"

namespace shoal {

class NextLook {
 public:
  static constexpr Duration kSoon = std::chrono::milliseconds(20);
  static constexpr Duration kSeldom = std::chrono::milliseconds(200);

  // True when the Tick that came is the awaited one; one that an earlier look has overtaken is not, and is ignored.
  [[nodiscard]] bool is_awaited(Instant now) const { return at_ - now < kSlack; }

  // Returns the pause from this look to the next.
  [[nodiscard]] Duration after_look(bool is_something_near, Instant now) {
    const Duration pause = is_something_near ? kSoon : kSeldom;
    at_ = now + pause;
    return pause;
  }

  // Something has come near: the pause until a look before the awaited one, if that is far off.
  [[nodiscard]] std::optional<Duration> sooner(Instant now) {
    if (at_ - now <= kSoon) return std::nullopt;
    at_ = now + kSoon;
    return kSoon;
  }

 private:
  // Timers are not finer than this. A stale Tick that comes so close before the awaited one takes its place, and the
  // awaited one is then the stale one.
  static constexpr Duration kSlack = std::chrono::milliseconds(5);

  Instant at_;
};

}  // namespace shoal
