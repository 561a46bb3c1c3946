// Looking for what all go back to, on a disk that refuses to read it now and may not in a while.
//
//   look ──refused──▶ pause of 1, 2, 4, ... s ──▶ look again ... for kPatience, then what cannot be read is passed over
//
// A checkpoint that is passed over costs the steps after the one before it; a search that ends costs the run. What is
// damaged stays so, and is passed over at once. Pure: time comes in.
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
  // The pause before the next look; nothing: that was the last one.
  [[nodiscard]] std::optional<Duration> refused(const std::string& reason, Instant now) {
    if (wanted_.passes_unreadable) return std::nullopt;
    refused_at_ = refused_at_.value_or(now);
    refusal_ = reason;
    wanted_.passes_unreadable = now - *refused_at_ >= kPatience;
    const Duration pause = wanted_.passes_unreadable ? Duration::zero() : pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    due_ = now + pause;
    return pause;
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
  std::optional<Instant> refused_at_, due_;
  std::string refusal_;
};

}  // namespace shoal
