// Looking for what all go back to, on a disk that refuses to read it now and may not in a while.
//
//   look ──refused──▶ pause of 1, 2, 4, ... s ──▶ look again ... for kPatience, then what cannot be read is passed over
//
// A checkpoint that is passed over costs the steps after the one before it; a search that ends costs the run. So a run
// that has saved one looks for it without end, as it waits for a text: the disk may be away. What is damaged stays so,
// and is passed over at once. Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/clock.h"

namespace shoal {

// Find the newest complete checkpoint of at most so many steps: found() or not_found().
struct FindCheckpoint {
  std::uint64_t not_beyond = ~std::uint64_t{0};
  bool passes_unreadable = false;  // as if it was damaged; otherwise the answer is not_found() with kIo
  // Steps of one that the run has saved, or began with. Where none is found it is away: not_found() with kIo.
  std::optional<std::uint64_t> saved{};
};

// Says what follows when the disk refused a look.
struct SearchAgain {
  Duration pause{};
  bool takes_older = false;  // from the next look on: what cannot be read is passed over
  bool is_endless = false;   // where none is found, it is looked for again
  bool is_told = false;      // a person hears of it: not each time, once the pauses are long
};

class StartSearch {
 public:
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);
  static constexpr Duration kPatience = std::chrono::minutes(2);

  void begin(FindCheckpoint wanted) {
    *this = StartSearch();
    wanted_ = wanted;
  }
  // Nothing: that was the last look.
  [[nodiscard]] std::optional<SearchAgain> refused(const std::string& reason, Instant now) {
    if (wanted_.passes_unreadable && !wanted_.saved) return std::nullopt;
    refused_at_ = refused_at_.value_or(now);
    refusal_ = reason;
    SearchAgain next{pause_, false, wanted_.saved.has_value(), pause_ < kLongestPause};
    wanted_.passes_unreadable = now - *refused_at_ >= kPatience;
    if (wanted_.passes_unreadable) {
      ++refusals_after_;
      next.takes_older = refusals_after_ == 1;
      next.is_told = refusals_after_ <= 2;  // also that no older one is there
      if (next.takes_older) next.pause = Duration::zero();
    }
    pause_ = std::min(2 * pause_, kLongestPause);
    due_ = now + next.pause;
    return next;
  }
  [[nodiscard]] std::optional<FindCheckpoint> take_due(Instant now) {
    if (!due_ || now < *due_) return std::nullopt;
    due_.reset();
    return wanted_;
  }
  // Why it was refused last; empty: it was not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  FindCheckpoint wanted_;
  Duration pause_ = kFirstPause;
  std::uint64_t refusals_after_ = 0;  // the patience
  std::optional<Instant> refused_at_, due_;
  std::string refusal_;
};

}  // namespace shoal
