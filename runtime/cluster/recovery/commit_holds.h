// Decides how long the next commit is held for a joiner that is late, how long its worker rests where that was in vain,
// and how long commits are held for all joiners together (P-27a).
//
// A joiner that fell behind copies a state anew, and can do so while nothing is committed: a hold that is shorter than
// a copy stops everybody for nothing, and one that is longer costs no more than the copy, for it ends when the joiner
// is in. So a hold is twice what the joiner's first state took, within kShortest and kUsual, and where a copy takes
// longer than that a quarter more than it, up to kLongest. Its holds together are no longer than kLongest, too: where
// copies take long, one has to do. The worker of one that is given up rests for kRestPerHold times what it was held
// for.
//
// One account bounds the holds of all joiners. It begins with kMost and gains a twentieth of the time that passes, up
// to kMost. A hold begins only where the account has all of it. Several holds at once run down together, and cost what
// the longest of them does: so the account never goes below zero, and in any stretch of time commits are held for a
// twentieth of it and kMost at the most.
//
// Pure: durations and times come in and go out.
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

// For how long commits may still be held, for whomever.
class HoldAccount {
 public:
  static constexpr Duration kMost = 2 * CommitHolds::kLongest;
  static constexpr int kTimePerHold = 20;

  // Returns the time since the last look. is_held: a commit was held in it.
  Duration look(bool is_held, Instant now) {
    const Duration passed = looked_at_ ? std::max(now - *looked_at_, Duration::zero()) : Duration::zero();
    looked_at_ = looked_at_ ? std::max(*looked_at_, now) : now;
    if (is_held) left_ -= passed;
    left_ = std::min(left_ + passed / kTimePerHold, kMost);
    return passed;
  }
  [[nodiscard]] bool has(Duration hold) const { return hold <= left_; }

 private:
  Duration left_ = kMost;
  std::optional<Instant> looked_at_;
};

}  // namespace shoal
