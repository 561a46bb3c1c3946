// Units of time as plain numbers, for figures that are computed in hours and in seconds.
// Measured and awaited times are std::chrono durations instead.
#pragma once

namespace shoal {

inline constexpr double kSecondsPerHour = 3600;

}  // namespace shoal
