// Judges from how fast its state comes whether a joiner can follow the steps: after the state it needs the sum of every
// step (P-26a), and one whose link brings sums more slowly than steps are committed never comes to the newest version.
//
// A sum is at least a third of a state (weights and two moments of AdamW; the share is larger with other optimisers and
// in exact mode), so what is stated is a least time. It is compared with two steps, because other sums may share the
// donor's link meanwhile. One whose sums come more slowly than steps are committed gets in by a held commit alone, and
// no commit is held for a state that takes longer than the longest hold (commit_holds.h).
//
//   from the first bytes on: stretch of kStretch or more ─▶ its pace ─▶ next stretch ...      the fastest one counts
//
// Time is that in which letters came in: a donor that computes gives nothing, however fast its link is. A link that
// stands still for a while is not a slow one. So a state that is on its way is judged after kOnTheWay, and one that
// came within kLeast says nothing. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/recovery/commit_holds.h"

namespace shoal {

// How long a step takes: steps that were held for a joiner are left out.
class StepPace {
 public:
  // So many steps are committed by now.
  void look(std::uint64_t committed_steps, bool is_held, Instant now) {
    is_held_ = is_held_ || is_held;
    if (committed_steps_ == committed_steps) return;
    const bool is_whole = committed_steps_ && *committed_steps_ + 1 == committed_steps && since_ && !is_held_;
    if (is_whole) mean_ = mean_ ? (3 * *mean_ + (now - *since_)) / 4 : now - *since_;
    committed_steps_ = committed_steps;
    since_ = now;
    is_held_ = false;
  }
  // The newest steps count most; none: no whole step was seen.
  [[nodiscard]] std::optional<Duration> mean() const { return mean_; }

 private:
  std::optional<std::uint64_t> committed_steps_;
  std::optional<Instant> since_;
  bool is_held_ = false;
  std::optional<Duration> mean_;
};

// How fast the newest copy of a state comes, or would come if nobody shared its donor's link.
class CopyPace {
 public:
  static constexpr Duration kLeast = std::chrono::seconds(5);
  static constexpr Duration kOnTheWay = std::chrono::seconds(10);
  static constexpr Duration kStretch = std::chrono::seconds(2);
  static constexpr int kSumsOfState = 3;
  static constexpr int kStepsOfSum = 2;

  // So many bytes of all are there, and letters with them came in for so long; less of either than before: it has begun
  // again. So many copies, this one included, share its donor's link: where that changes, another stretch begins.
  void arriving(std::uint64_t bytes, std::uint64_t bytes_total, double on_its_way_ms, std::size_t sharers) {
    const double at = on_its_way_ms / 1000;
    if (!stretch_ || bytes < newest_.bytes || at < newest_.at) {
      *this = CopyPace();
      stretch_ = Point{bytes, at};
      began_ = at;
    }
    newest_ = {bytes, at};
    bytes_total_ = bytes_total;
    if (std::exchange(sharers_, sharers) != sharers) stretch_ = newest_;
    if (at - stretch_->at < seconds(kStretch) || bytes <= stretch_->bytes) return;
    const double per_second = static_cast<double>(sharers * (bytes - stretch_->bytes)) / (at - stretch_->at);
    fastest_per_second_ = std::max(fastest_per_second_, per_second);
    stretch_ = newest_;
  }
  // Says why it cannot follow steps of that length; empty: it can, or too little is known.
  [[nodiscard]] std::string why_too_slow(Duration step) const {
    const bool is_there = newest_.bytes >= bytes_total_;
    if (newest_.at - began_ < seconds(is_there ? kLeast : kOnTheWay) || fastest_per_second_ == 0) return {};
    const double state_seconds = static_cast<double>(bytes_total_) / fastest_per_second_;
    const double sum_seconds = state_seconds / kSumsOfState;
    const double step_seconds = seconds(step);
    const bool is_too_slow = sum_seconds > kStepsOfSum * step_seconds;
    const double held_seconds = seconds(CommitHolds::kLongestCopy);
    const bool is_held_in_vain = sum_seconds > step_seconds && state_seconds > held_seconds;
    if (!is_too_slow && !is_held_in_vain) return {};
    const std::string no_hold =
        is_too_slow ? ""
                    : compose("; its state takes ", number_text(state_seconds, 0),
                              " s, and no commit is held for one of ", "more than ", number_text(held_seconds, 0),
                              " s; with more stages (pipeline.stages) each has a smaller state");
    return compose("its link brings ", number_text(fastest_per_second_ / 1e6, 1), " MB/s: the sum of a step (at least ",
                   number_text(static_cast<double>(bytes_total_) / kSumsOfState / 1e6, 1), " MB) takes ",
                   number_text(sum_seconds, 1), " s, and a step ", number_text(step_seconds, 1), " s", no_hold,
                   "; it cannot follow");
  }

 private:
  [[nodiscard]] static double seconds(Duration duration) { return milliseconds(duration) / 1000; }

  struct Point {
    std::uint64_t bytes = 0;
    double at = 0;  // seconds on its way
  };
  std::optional<Point> stretch_;  // where the newest one began
  Point newest_{};
  std::uint64_t bytes_total_ = 0;
  std::size_t sharers_ = 1;
  double fastest_per_second_ = 0;  // alone on the link
  double began_ = 0;
};

}  // namespace shoal
