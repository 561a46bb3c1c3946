// How long something large that is on its way has come no closer: patience with it counts from its last progress, not
// from its order, because nobody knows beforehand how large it is or how slow its way.
//
// What begins again and again comes no closer either: after kRestartsMax times only what goes beyond the furthest point
// so far counts. Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/clock.h"

namespace shoal {

class ProgressWatch {
 public:
  static constexpr int kRestartsMax = 3;

  explicit ProgressWatch(Instant begun) : moved_at_(begun) {}

  // Takes the bytes that are there now; fewer than before: it has begun again. Returns whether that is progress.
  bool seen(std::uint64_t bytes, Instant now) {
    if (bytes == bytes_) return false;
    if (bytes < bytes_) ++restarts_;
    bytes_ = bytes;
    if (restarts_ > kRestartsMax && bytes <= furthest_) return false;
    furthest_ = std::max(furthest_, bytes);
    moved_at_ = now;
    return true;
  }

  [[nodiscard]] Duration silence(Instant now) const { return now - moved_at_; }

 private:
  Instant moved_at_;
  std::uint64_t bytes_ = 0;
  std::uint64_t furthest_ = 0;
  int restarts_ = 0;
};

// Decides when something is given again to a receiver that asks until it has it: when it counts as lost, which is when
// nothing more of it has arrived for so long, doubled with each repeat.
class GivenOnce {
 public:
  GivenOnce(Duration lost_after, Instant now) : lost_after_(lost_after), watch_(now) {}

  // Takes note that so many bytes of it are there.
  void arriving(std::uint64_t bytes, Instant now) { (void)watch_.seen(bytes, now); }
  // Silence counts from `since` on at the earliest.
  [[nodiscard]] bool is_lost(Instant now, Instant since = {}) const {
    return std::min(watch_.silence(now), now - since) >= lost_after_;
  }
  void given_again(Instant now) {
    watch_ = ProgressWatch(now);
    lost_after_ *= 2;
  }

 private:
  Duration lost_after_;
  ProgressWatch watch_;
};

}  // namespace shoal
