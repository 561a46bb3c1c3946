// Layout: title, legend, then panels of one size from left to right, wide enough for the words above them.
#include "runtime/drawing/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "runtime/base/ensure.h"
#include "runtime/drawing/axis.h"
#include "runtime/drawing/canvas.h"

namespace shoal {
namespace {

constexpr double kMargin = 24;
constexpr double kPanelWidth = 380;  // at least
constexpr double kPanelHeight = 260;
constexpr double kLeft = 56;  // begin of a panel's field: room for the labels of its axis
constexpr double kTop = 128;
constexpr double kBelow = 56;
constexpr double kTitleSize = 20;
constexpr double kBold = 1.15;  // how much wider bold letters are
constexpr double kSubtitleSize = 13;
constexpr double kLegendSize = 12;
constexpr std::string_view kGrey = "#7b8794";
constexpr std::array<std::string_view, 8> kColors = {"#4a90d9", "#e8853d", "#2fa39a", "#7661c4",
                                                     "#d64545", "#52606d", "#b7950b", "#a0725b"};

struct Look {
  std::string name;
  std::string_view color;
  bool is_dashed;
};

std::string stroke_of(const Look& look) {
  std::string text = "fill=\"none\" stroke=\"" + std::string(look.color) + "\" stroke-width=\"2\"";
  return look.is_dashed ? text + " stroke-dasharray=\"5 4\"" : text;
}

class ChartDrawing {
 public:
  explicit ChartDrawing(const Chart& chart)
      : chart_(chart),
        looks_(looks_of(chart)),
        width_(2 * kMargin + std::max(width_of_words(), panel_count() * (kLeft + kPanelWidth))),
        panel_width_((width_ - 2 * kMargin) / panel_count() - kLeft),
        canvas_(width_, kTop + kPanelHeight + kBelow) {}

  std::string run() && {
    canvas_.box({0, 0, width_, kTop + kPanelHeight + kBelow}, "#ffffff");
    canvas_.text(kMargin, 36, chart_.title, {kTitleSize, "#1f2933", Anchor::kStart, true});
    canvas_.text(kMargin, 58, chart_.subtitle, {kSubtitleSize, kGrey});
    draw_legend();
    double left = kMargin + kLeft;
    for (const ChartPanel& panel : chart_.panels) {
      draw_axes(panel, left);
      for (const ChartCurve& curve : panel.curves) draw_curve(panel, curve, left);
      left += kLeft + panel_width_;
    }
    return std::move(canvas_).finish();
  }

 private:
  static std::vector<Look> looks_of(const Chart& chart) {
    std::vector<Look> looks;
    for (const ChartPanel& panel : chart.panels) {
      for (const ChartCurve& curve : panel.curves) {
        if (std::ranges::find(looks, curve.name, &Look::name) != looks.end()) continue;
        looks.push_back({curve.name, kColors[looks.size() % kColors.size()], curve.is_dashed});
      }
    }
    return looks;
  }

  double panel_count() const { return static_cast<double>(chart_.panels.size()); }

  double width_of_words() const {
    double legend = 0;
    for (const Look& look : looks_) legend += width_of_entry(look);
    return std::max({kBold * width_of(chart_.title, kTitleSize), width_of(chart_.subtitle, kSubtitleSize), legend});
  }

  static double width_of_entry(const Look& look) { return 50 + width_of(look.name, kLegendSize); }

  void draw_legend() {
    double x = kMargin;
    for (const Look& look : looks_) {
      canvas_.path("M" + pixel_text(x) + " 80h20", stroke_of(look));
      canvas_.text(x + 26, 84, look.name, {kLegendSize});
      x += width_of_entry(look);
    }
  }

  void draw_axes(const ChartPanel& panel, double left) {
    const double bottom = kTop + kPanelHeight;
    const double right = left + panel_width_ - 16;
    canvas_.text(left, kTop - 10, panel.title, {14, "#1f2933", Anchor::kStart, true});
    for (const double tick : ticks_of(panel.x)) {
      const double x = left + placed(panel.x, tick) * (right - left);
      canvas_.line(x, kTop, x, bottom, "stroke=\"#e4e9ef\"");
      canvas_.text(x, bottom + 18, tick_text(tick), {11, kGrey, Anchor::kMiddle});
    }
    for (const double tick : ticks_of(panel.y)) {
      const double y = bottom - placed(panel.y, tick) * kPanelHeight;
      canvas_.line(left, y, right, y, "stroke=\"#e4e9ef\"");
      canvas_.text(left - 8, y + 4, tick_text(tick), {11, kGrey, Anchor::kEnd});
    }
    canvas_.line(left, bottom, right, bottom, "stroke=\"#9aa5b1\"");
    canvas_.line(left, kTop, left, bottom, "stroke=\"#9aa5b1\"");
    canvas_.text((left + right) / 2, bottom + 38, panel.x.label, {12, kGrey, Anchor::kMiddle});
    canvas_.raw("<g transform=\"translate(" + pixel_text(left - 40) + " " + pixel_text(kTop + kPanelHeight / 2) +
                ") rotate(-90)\">");
    canvas_.text(0, 0, panel.y.label, {12, kGrey, Anchor::kMiddle});
    canvas_.raw("</g>\n");
  }

  void draw_curve(const ChartPanel& panel, const ChartCurve& curve, double left) {
    std::string data;
    bool is_open = false;
    for (const ChartPoint& point : curve.points) {
      const bool is_drawn = !std::isnan(point.x) && !std::isnan(point.y);
      if (is_drawn) {
        const double x = left + placed(panel.x, point.x) * (panel_width_ - 16);
        const double y = kTop + kPanelHeight * (1 - placed(panel.y, point.y));
        data += (is_open ? "L" : "M") + pixel_text(x) + " " + pixel_text(y);
      }
      is_open = is_drawn;
    }
    if (!data.empty()) canvas_.path(data, stroke_of(*std::ranges::find(looks_, curve.name, &Look::name)));
  }

  const Chart& chart_;
  std::vector<Look> looks_;
  double width_;
  double panel_width_;
  Canvas canvas_;
};

}  // namespace

std::string draw(const Chart& chart) {
  ENSURE(!chart.panels.empty(), "a chart has panels");
  for (const ChartPanel& panel : chart.panels) {
    for (const ChartAxis* axis : {&panel.x, &panel.y}) {
      ENSURE(std::isfinite(axis->low) && std::isfinite(axis->high) && axis->low < axis->high,
             "an axis has a beginning and an end");
      ENSURE(axis->scale == AxisScale::kLinear || axis->low > 0, "a logarithmic axis begins above 0");
    }
  }
  return ChartDrawing(chart).run();
}

}  // namespace shoal
