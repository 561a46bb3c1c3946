// Layout from top to bottom: title, subtitle, legend, panels, rows of moments, the labels of the horizontal axis.
#include "runtime/drawing/stacked_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "runtime/base/ensure.h"
#include "runtime/drawing/canvas.h"

namespace shoal {
namespace {

constexpr double kWidth = 1000;
constexpr double kLeft = 88;  // room for the labels of vertical axes and of rows
constexpr double kRight = kWidth - 28;
constexpr double kMargin = 24;
constexpr double kHead = 84;        // height of the legend's first line
constexpr double kLegendLine = 20;  // from one line to the next
constexpr double kPanelHead = 36;   // above a panel: its title
constexpr double kRowHeight = 16;   // at least
constexpr double kLaneHeight = 4;   // height of a series in a row, at least
constexpr double kRowsHead = 14;
constexpr double kFoot = 56;
constexpr double kLegendSize = 12;
constexpr std::string_view kInk = "#1f2933";
constexpr std::string_view kGrey = "#52606d";
// Okabe and Ito's colors but yellow, which is too light on white.
constexpr std::array<std::string_view, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#332288", "#e69f00", "#52606d"};

std::string stroke_of(std::size_t series, CurveLook look) {
  const bool is_faint = look == CurveLook::kFaint;
  std::string text = "fill=\"none\" stroke-linejoin=\"round\" stroke=\"" + std::string(series_color(series)) +
                     "\" stroke-width=\"" + (is_faint ? "1" : "2") + "\"" + (is_faint ? " stroke-opacity=\".6\"" : "");
  const std::size_t lap = series / kColors.size();
  if (lap > 0) text += lap % 2 == 1 ? " stroke-dasharray=\"6 3\"" : " stroke-dasharray=\"2 2\"";
  return text;
}

std::string mark_of(std::string_view color) {
  return "fill=\"" + std::string(color) + "\" stroke=\"#ffffff\" stroke-width=\"1\"";
}

void draw_mark(Canvas& canvas, CurveLook look, double x, double y, std::string_view color) {
  if (look == CurveLook::kCircles) canvas.circle(x, y, 3.5, mark_of(color));
  if (look == CurveLook::kDiamonds) {
    canvas.path("M" + pixel_text(x) + " " + pixel_text(y - 7) + "l7 7l-7 7l-7 -7z", mark_of(color));
  }
}

class StackedDrawing {
 public:
  explicit StackedDrawing(const StackedChart& chart)
      : chart_(chart), first_panel_(kHead + legend_lines(chart) * kLegendLine), canvas_(kWidth, height()) {}

  std::string run() && {
    canvas_.box({0, 0, kWidth, height()}, "#ffffff");
    canvas_.text(kMargin, 36, chart_.title, {20, kInk, Anchor::kStart, true});
    canvas_.text(kMargin, 58, chart_.subtitle, {13, kGrey});
    draw_legend();
    double top = first_panel_;
    for (const StackedPanel& panel : chart_.panels) {
      top += kPanelHead;
      draw_panel(panel, top);
      top += panel.height;
    }
    if (!chart_.rows.empty()) top += kRowsHead;
    for (const StackedRow& row : chart_.rows) {
      draw_row(row, top);
      top += row_height();
    }
    draw_x_labels(top);
    return std::move(canvas_).finish();
  }

 private:
  struct Entry {
    std::string text;
    CurveLook look = CurveLook::kLine;
    std::optional<std::size_t> series;  // none: a key
    double width() const { return 50 + width_of(text, kLegendSize); }
  };

  // Lines of entries, as many in each as there is room for. Names and keys begin lines of their own.
  static std::vector<std::vector<Entry>> legend_of(const StackedChart& chart) {
    std::vector<std::vector<Entry>> lines;
    double used = kWidth;
    const auto add = [&](Entry entry) {
      if (used + entry.width() > kRight) lines.emplace_back(), used = kMargin;
      used += entry.width();
      lines.back().push_back(std::move(entry));
    };
    for (std::size_t i = 0; i < chart.series.size() && chart.series.size() > 1; ++i) {
      add({chart.series[i], CurveLook::kLine, i});
    }
    used = kWidth;
    for (const StackedKey& key : chart.keys) add({key.meaning, key.look, {}});
    return lines;
  }
  static double legend_lines(const StackedChart& chart) { return static_cast<double>(legend_of(chart).size()); }

  double row_height() const {
    return std::max(kRowHeight, 2 + kLaneHeight * static_cast<double>(chart_.series.size()));
  }

  double height() const {
    double height = first_panel_ + kFoot;
    for (const StackedPanel& panel : chart_.panels) height += kPanelHead + panel.height;
    return height + static_cast<double>(chart_.rows.size()) * row_height() + (chart_.rows.empty() ? 0 : kRowsHead);
  }

  // A key has the color of the only series, and is grey where there are several.
  void draw_entry(const Entry& entry, double x, double y) {
    const std::size_t series = entry.series.value_or(chart_.series.size() == 1 ? 0 : kColors.size() - 1);
    if (entry.look != CurveLook::kDiamonds) {
      canvas_.path("M" + pixel_text(x) + " " + pixel_text(y - 4) + "h22", stroke_of(series, entry.look));
    }
    draw_mark(canvas_, entry.look, x + 11, y - 4, series_color(series));
    canvas_.text(x + 28, y, entry.text, {kLegendSize, kInk});
  }

  void draw_legend() {
    double y = kHead;
    for (const auto& line : legend_of(chart_)) {
      double x = kMargin;
      for (const Entry& entry : line) {
        draw_entry(entry, x, y);
        x += entry.width();
      }
      y += kLegendLine;
    }
  }

  double x_of(double value) const { return kLeft + placed(chart_.x, value) * (kRight - kLeft); }

  void draw_grid(double top, double height) {
    for (const double tick : ticks_of(chart_.x)) {
      canvas_.line(x_of(tick), top, x_of(tick), top + height, "stroke=\"#e4e9ef\"");
    }
  }

  void draw_panel(const StackedPanel& panel, double top) {
    const double bottom = top + panel.height;
    canvas_.text(kLeft, top - 10, panel.title, {14, kInk, Anchor::kStart, true});
    canvas_.text(kRight, top - 10, panel.note, {12, "#b3261e", Anchor::kEnd});
    draw_grid(top, panel.height);
    for (const double tick : ticks_of(panel.y)) {
      const double y = bottom - placed(panel.y, tick) * panel.height;
      canvas_.line(kLeft, y, kRight, y, "stroke=\"#e4e9ef\"");
      canvas_.text(kLeft - 8, y + 4, tick_text(tick), {11, kGrey, Anchor::kEnd});
    }
    canvas_.line(kLeft, bottom, kRight, bottom, "stroke=\"#9aa5b1\"");
    canvas_.line(kLeft, top, kLeft, bottom, "stroke=\"#9aa5b1\"");
    canvas_.raw("<g transform=\"translate(" + pixel_text(kMargin + 6) + " " + pixel_text(top + panel.height / 2) +
                ") rotate(-90)\">");
    canvas_.text(0, 0, panel.y.label, {12, kGrey, Anchor::kMiddle});
    canvas_.raw("</g>\n");
    for (const StackedCurve& curve : panel.curves) draw_curve(panel, curve, bottom);
  }

  void draw_curve(const StackedPanel& panel, const StackedCurve& curve, double bottom) {
    std::string data;
    std::vector<ChartPoint> places;
    bool is_open = false;
    for (const ChartPoint& point : curve.points) {
      const bool is_drawn = !std::isnan(point.x) && !std::isnan(point.y);
      if (is_drawn) {
        places.push_back({x_of(point.x), bottom - placed(panel.y, point.y) * panel.height});
        data += (is_open ? "L" : "M") + pixel_text(places.back().x) + " " + pixel_text(places.back().y);
      }
      is_open = is_drawn;
    }
    const bool has_line = curve.look != CurveLook::kDiamonds;
    if (has_line && !data.empty()) canvas_.path(data, stroke_of(curve.series, curve.look));
    if (places.size() == 1 && curve.look <= CurveLook::kLine) {
      canvas_.circle(places[0].x, places[0].y, 2, mark_of(series_color(curve.series)));
    }
    for (const ChartPoint& place : places) {
      draw_mark(canvas_, curve.look, place.x, place.y, series_color(curve.series));
    }
  }

  // Every series has a part of the row's height. Moments that fall on one pixel are one stroke.
  void draw_row(const StackedRow& row, double top) {
    canvas_.text(kLeft - 8, top + row_height() / 2 + 4, row.label, {11, kGrey, Anchor::kEnd});
    canvas_.box({kLeft, top + 1, kRight - kLeft, row_height() - 2}, "#f5f7fa");
    const double lane = (row_height() - 2) / static_cast<double>(std::max<std::size_t>(1, chart_.series.size()));
    for (const StackedMoments& moments : row.moments) {
      const double begin = top + 1 + static_cast<double>(moments.series) * lane;
      std::set<double> places;
      for (const double at : moments.at) places.insert(std::round(x_of(at)));
      std::string data;
      for (const double x : places) data += "M" + pixel_text(x) + " " + pixel_text(begin) + "v" + pixel_text(lane);
      if (data.empty()) continue;
      canvas_.path(data, "stroke=\"" + std::string(series_color(moments.series)) + "\" stroke-width=\"2\"");
    }
  }

  void draw_x_labels(double bottom) {
    for (const double tick : ticks_of(chart_.x)) {
      canvas_.text(x_of(tick), bottom + 18, tick_text(tick), {11, kGrey, Anchor::kMiddle});
    }
    canvas_.text((kLeft + kRight) / 2, bottom + 38, chart_.x.label, {12, kGrey, Anchor::kMiddle});
  }

  const StackedChart& chart_;
  double first_panel_;
  Canvas canvas_;
};

void check(const ChartAxis& axis) {
  ENSURE(std::isfinite(axis.low) && std::isfinite(axis.high) && axis.low < axis.high,
         "an axis has a beginning and an end");
  ENSURE(axis.scale == AxisScale::kLinear || axis.low > 0, "a logarithmic axis begins above 0");
}

}  // namespace

std::string_view series_color(std::size_t series) { return kColors[series % kColors.size()]; }

std::string draw(const StackedChart& chart) {
  ENSURE(!chart.panels.empty(), "a chart has panels");
  check(chart.x);
  for (const StackedPanel& panel : chart.panels) {
    check(panel.y);
    for (const StackedCurve& curve : panel.curves) ENSURE(curve.series < chart.series.size(), "a curve has a series");
  }
  for (const StackedRow& row : chart.rows) {
    for (const StackedMoments& moments : row.moments) {
      ENSURE(moments.series < chart.series.size(), "a moment has a series");
    }
  }
  return StackedDrawing(chart).run();
}

}  // namespace shoal
