// Computes how far another process's steady clock is ahead of this one's, from the four times of a round trip.
//
//   here:  sent ─────────────────────────▶ heard        ahead = ((received - sent) + (replied - heard)) / 2
//   there:        received ──▶ replied                  round trip = (heard - sent) - (replied - received)
//
// The estimate is wrong by at most half of the round trip, whatever the ways there and back took (NTP, RFC 5905 §8). So
// only a round trip shorter than those before is worth telling, and after a minute any, because clocks drift.
#pragma once

#include <cstdint>
#include <optional>

#include "messages/supervision.h"

namespace shoal {

struct ClockOffset {
  std::int64_t ahead_ns = 0;
  std::uint64_t round_trip_ns = 0;
  friend bool operator==(const ClockOffset&, const ClockOffset&) = default;
};

class ClockOffsets {
 public:
  // heard_ns: when the echo came, by this process's steady clock. Nothing when it tells less than what is known, or
  // when its times cannot be.
  [[nodiscard]] std::optional<ClockOffset> hear(const HeartbeatEcho& echo, std::int64_t heard_ns) {
    const std::int64_t there_ns = echo.replied_ns - echo.received_ns;
    const std::int64_t round_trip_ns = heard_ns - echo.sent_ns - there_ns;
    if (echo.sent_ns == 0 || echo.received_ns == 0 || there_ns < 0 || round_trip_ns < 0) return std::nullopt;
    const auto round_trip = static_cast<std::uint64_t>(round_trip_ns);
    const bool is_old = told_ && heard_ns - told_at_ns_ > kToldAgainNs;
    if (told_ && !is_old && round_trip >= told_->round_trip_ns) return std::nullopt;
    const std::int64_t ahead_ns = ((echo.received_ns - echo.sent_ns) + (echo.replied_ns - heard_ns)) / 2;
    told_at_ns_ = heard_ns;
    told_ = ClockOffset{ahead_ns, round_trip};
    return told_;
  }

 private:
  static constexpr std::int64_t kToldAgainNs = 60'000'000'000;

  std::optional<ClockOffset> told_;
  std::int64_t told_at_ns_ = 0;
};

}  // namespace shoal
