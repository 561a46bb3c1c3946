// An axis of a chart: where a value lies on it, and which round numbers are written beside it.
// Pure; the caller says how many pixels it has.
#pragma once

#include <string>
#include <vector>

namespace shoal {

enum class AxisScale : unsigned char { kLinear, kLogarithmic };

// low < high, and low > 0 where it is logarithmic. Ticks are chosen: powers of ten, or five to ten round numbers.
struct ChartAxis {
  std::string label;  // with its unit
  double low = 0;
  double high = 1;
  AxisScale scale = AxisScale::kLinear;
};

struct ChartPoint {
  double x = 0;
  double y = 0;
};

// Places a value: 0 is the low end, 1 the high one; what lies beyond an end is placed at it.
[[nodiscard]] double placed(const ChartAxis& axis, double value);

// Ascending, within the axis.
[[nodiscard]] std::vector<double> ticks_of(const ChartAxis& axis);

// "0.25", "600": at most six digits.
[[nodiscard]] std::string tick_text(double value);

}  // namespace shoal
