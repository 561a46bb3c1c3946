// A moment of wall time as ISO 8601 in UTC, to the millisecond: "2026-11-25T10:01:02.345Z". It is for people and
// records; nothing is decided by it (clock.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

using WallTime = std::chrono::system_clock::time_point;

// Rounded down to the millisecond.
[[nodiscard]] std::string utc_ms_text(WallTime time);

// The moment that such a text names; nothing for every other text.
[[nodiscard]] std::optional<WallTime> parse_utc_ms(std::string_view text);

}  // namespace shoal
