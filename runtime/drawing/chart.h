// Curves in panels side by side, with axes and one legend, as a whole SVG.
//
// Points outside an axis are drawn at its end; points that are no numbers are left out, so that a curve may have gaps.
#pragma once

#include <string>
#include <vector>

#include "runtime/drawing/axis.h"

namespace shoal {

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
