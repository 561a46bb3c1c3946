// Units of time as plain numbers, for figures that are computed in hours and in seconds.
// What is measured or awaited is a std::chrono duration instead.
#pragma once

namespace shoal {

inline constexpr double kSecondsPerHour = 3600;

}  // namespace shoal
