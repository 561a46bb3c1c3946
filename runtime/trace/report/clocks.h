// Relates the clocks of a run's processes to each other, from what their traces say.
//
// A life's events count from an instant of its machine's steady clock. Processes of one machine share that clock, so
// between them nothing is estimated. Between machines the node agents measured: each kClock event says how far the
// spawner's steady clock was ahead of this one's, and the round trip of the question. The one with the least round trip
// of all processes of a machine counts; it is wrong by at most half of that round trip. Where nothing was measured, the
// wall clocks are taken to agree, and no bound is stated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/trace_file.h"

namespace shoal {

enum class ClockSource : std::uint8_t { kSameMachine, kMeasured, kWallClock };

struct ClockReading {
  std::int64_t ahead_ns = 0;             // lead of the reference's steady clock over this one: to be added
  std::optional<std::int64_t> bound_ns;  // largest error; none for kWallClock
  ClockSource source = ClockSource::kSameMachine;
  friend bool operator==(const ClockReading&, const ClockReading&) = default;
};

// One per life, in their order. The reference is the machine of the first life whose process is called "spawner", or of
// the first life.
[[nodiscard]] std::vector<ClockReading> align_clocks(const std::vector<TraceLife>& lives);

// "clock of the spawner's machine", "measured: +1.234 ms, at most 0.080 ms wrong", ...
[[nodiscard]] std::string text_of(const ClockReading& clock);

}  // namespace shoal
