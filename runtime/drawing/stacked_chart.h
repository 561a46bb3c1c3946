// Series over one horizontal axis: panels below each other, rows of moments below them, and one legend, as an SVG.
//
// The picture has one width; a legend that is longer takes more lines. A series has one color everywhere; colors can be
// told apart by the color-blind, and from the ninth series on they come again with dashes. Points that are no numbers
// are left out, so that a curve may have gaps; points outside an axis are drawn at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/drawing/axis.h"

namespace shoal {

enum class CurveLook : std::uint8_t {
  kFaint,     // a thin line: many points that scatter
  kLine,      // a line
  kCircles,   // a line through circles
  kDiamonds,  // points alone, larger than circles
};

struct StackedCurve {
  std::size_t series = 0;
  CurveLook look = CurveLook::kLine;
  std::vector<ChartPoint> points;
};

struct StackedPanel {
  std::string title;
  std::string note;  // to the right of it: what is not as a reader expects; or nothing
  ChartAxis y;
  double height = 200;  // pixels
  std::vector<StackedCurve> curves;
};

struct StackedMoments {
  std::size_t series = 0;
  std::vector<double> at;
};

struct StackedRow {
  std::string label;
  std::vector<StackedMoments> moments;
};

// An entry of the legend: a look, and what it stands for.
struct StackedKey {
  CurveLook look = CurveLook::kLine;
  std::string meaning;
};

struct StackedChart {
  std::string title;
  std::string subtitle;
  ChartAxis x;
  std::vector<std::string> series;  // names; one alone needs no entry in the legend
  std::vector<StackedKey> keys;
  std::vector<StackedPanel> panels;  // at least one
  std::vector<StackedRow> rows;
};

// Ensures that there is a panel, that axes have an extent and that every curve is of a series.
[[nodiscard]] std::string draw(const StackedChart& chart);

// The color of the series of this index.
[[nodiscard]] std::string_view series_color(std::size_t series);

}  // namespace shoal
