// Looking for what all go back to, on a disk that is slow, hangs, or refuses to be read now and may not in a while.
//
//   look 1 ──refused──▶ pause of 1, 2, 4, ... s ──▶ look 2 ... for kPatience, then what cannot be read is passed over
//     └─found, and a newer checkpoint was saved meanwhile──▶ look 2, at once
//
// A look reads a whole checkpoint: it takes minutes where that is large, and has no end while a disk hangs. So its
// answer comes later, under the look's number; an answer that is not awaited is not taken. A look has no time limit:
// another one would wait for the same disk, and slow down one that only reads much.
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

// Find the newest complete checkpoint of at most so many steps, beside all else; then looked() under this number.
struct FindCheckpoint {
  std::uint64_t not_beyond = ~std::uint64_t{0};
  bool passes_unreadable = false;  // as if it was damaged; otherwise the answer is a failure with kIo
  // Steps of one that the run has saved, or began with. Where none is found it is away: a failure with kIo.
  std::optional<std::uint64_t> saved{};
  std::uint64_t look = 0;  // counts the looks of this supervisor
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
  static constexpr Duration kSilenceToldAfter = std::chrono::minutes(10);

  // Returns the first look of another search. Looks before it are not awaited any more.
  [[nodiscard]] FindCheckpoint begin(FindCheckpoint wanted, Instant now) {
    const std::uint64_t looks = looks_;
    *this = StartSearch();
    looks_ = looks;
    wanted_ = wanted;
    return look(now);
  }
  // The answer to a look is there. False: it is not awaited.
  [[nodiscard]] bool take_answer(std::uint64_t look) {
    if (!looking_since_ || look != looks_) return false;
    looking_since_.reset();
    return true;
  }
  // True when the run had saved less, as the look that was answered last knew.
  [[nodiscard]] bool is_outdated(std::optional<std::uint64_t> saved) const { return saved > wanted_.saved; }
  // Returns the next look, without a pause.
  [[nodiscard]] FindCheckpoint look_again(std::optional<std::uint64_t> saved, Instant now) {
    wanted_.saved = saved;
    return look(now);
  }
  // The disk refused the look that was answered last. Nothing: that was the last look.
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
  // Returns the look that a pause was before, once.
  [[nodiscard]] std::optional<FindCheckpoint> take_due(std::optional<std::uint64_t> saved, Instant now) {
    if (!due_ || now < *due_) return std::nullopt;
    return look_again(saved, now);
  }
  // True once for each look: it has had no answer for long.
  [[nodiscard]] bool is_silence_news(Instant now) {
    if (is_silence_told_ || !looking_since_ || now - *looking_since_ < kSilenceToldAfter) return false;
    return is_silence_told_ = true;
  }
  // Why it was refused last; empty: it was not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  [[nodiscard]] FindCheckpoint look(Instant now) {
    due_.reset();
    looking_since_ = now;
    is_silence_told_ = false;
    wanted_.look = ++looks_;
    return wanted_;
  }

  FindCheckpoint wanted_;
  std::uint64_t looks_ = 0;
  std::optional<Instant> looking_since_;  // nothing: no answer is awaited
  bool is_silence_told_ = false;
  Duration pause_ = kFirstPause;
  std::uint64_t refusals_after_ = 0;  // the patience
  std::optional<Instant> refused_at_, due_;
  std::string refusal_;
};

}  // namespace shoal
