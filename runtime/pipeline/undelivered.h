// Counts what a router did not deliver, by reason, and when to say so. Every one is harmless by the protocol, and in
// the trace as a drop; many of one kind are a finding, so the log says how many there are so far.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"

namespace shoal {

class Undelivered {
 public:
  enum class Why : std::uint8_t {
    kBadFrame,
    kBadLetter,    // frames in order, but not a letter
    kNotAllowed,   // its sender's role may not say this
    kForged,       // another sender than the link's
    kStranger,     // one connection too many without a Hello
    kNobody,       // nobody here, or nowhere known
    kTooFarAhead,  // ahead of our journal
    kNoRoom,       // to wait for a link
    kNotCopied     // its tensor could not be copied from its device
  };
  static constexpr Duration kPause = std::chrono::minutes(1);  // between two sayings, at least

  void add(Why why, std::uint64_t count = 1) {
    counts_[static_cast<std::size_t>(why)] += count;
    is_news_ |= count > 0;
  }
  [[nodiscard]] std::uint64_t count(Why why) const { return counts_[static_cast<std::size_t>(why)]; }

  // "2 forged, 31 for nobody": all so far, if that is news and the last time was long ago.
  [[nodiscard]] std::optional<std::string> news(Instant now) {
    if (!is_news_ || (said_at_ && now - *said_at_ < kPause)) return std::nullopt;
    is_news_ = false;
    said_at_ = now;
    std::string all;
    for (std::size_t why = 0; why < kWords.size(); ++why) {
      if (counts_[why] > 0) all += compose(all.empty() ? "" : ", ", counts_[why], " ", kWords[why]);
    }
    return all;
  }

 private:
  static constexpr std::array<std::string_view, 9> kWords = {
      "broken frames",
      "frames without a letter",
      "letters that their sender may not write",
      "forged letters",
      "strangers too many",
      "letters for nobody",
      "letters too far ahead of the journal",
      "letters without room to wait for their way",
      "letters whose tensors could not be copied from their device"};

  std::array<std::uint64_t, kWords.size()> counts_{};
  bool is_news_ = false;
  std::optional<Instant> said_at_;
};

}  // namespace shoal
