// Decides how long the next commit is held for a joiner that is late, and how long its worker rests where that was in
// vain (P-27a).
//
// A joiner that fell behind copies a state anew, and can do so while nothing is committed: a hold that is shorter than
// a copy stops everybody for nothing, and one that is longer costs no more than the copy, for it ends when the joiner
// is in. So a hold is twice what the joiner's first state took, within kShortest and kUsual, and where a copy takes
// longer than that a quarter more than it, up to kLongest. Its holds together are no longer than kLongest, too: where
// copies take long, one has to do. The worker of one that is given up rests for kRestPerHold times what it was held
// for: such holds cost a run a twentieth of its time at most.
//
// Pure: durations come in and go out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/base/bound.h"
#include "runtime/base/clock.h"

namespace shoal {

class CommitHolds {
 public:
  static constexpr Duration kShortest = std::chrono::seconds(5);
  static constexpr Duration kUsual = std::chrono::seconds(60);
  static constexpr Duration kLongest = std::chrono::minutes(5);
  static constexpr Duration kLongestCopy = 4 * kLongest / 5;    // that one can be held for
  static constexpr Duration kPause = std::chrono::seconds(30);  // between two of one joiner
  static inline const Bound kMax{"supervision.held_commits_of_a_joiner", 3};
  static constexpr Duration kLeastRest = std::chrono::minutes(10);
  static constexpr int kRestPerHold = 20;

  // took: until its first state was there. None: there is none any more.
  [[nodiscard]] std::optional<Duration> next(Duration took) const {
    const Duration usual = std::clamp(2 * took, kShortest, kUsual);
    const Duration hold = std::max(usual, std::min(took + took / 4, kLongest));
    if (kMax.is_reached_by(count_) || total_ + hold > kLongest) return std::nullopt;
    return hold;
  }
  void add(Duration hold) {
    ++count_;
    total_ += hold;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Returns how long the worker of a joiner that was given up is asked for nothing.
  [[nodiscard]] Duration rest() const { return std::max(kLeastRest, kRestPerHold * total_); }

 private:
  std::uint64_t count_ = 0;
  Duration total_{};
};

}  // namespace shoal
