// Curves in panels side by side, with axes and one legend, as a whole SVG.
//
// Points outside an axis are drawn at its end; points that are no numbers are left out, so that a curve may have gaps.
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

struct ChartCurve {
  std::string name;  // curves of the same name, in whatever panel, share one entry of the legend and one color
  std::vector<ChartPoint> points;
  bool is_dashed = false;
};

struct ChartPanel {
  std::string title;
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartCurve> curves;
};

struct Chart {
  std::string title;
  std::string subtitle;
  std::vector<ChartPanel> panels;  // at least one
};

[[nodiscard]] std::string draw(const Chart& chart);

}  // namespace shoal
