// Places things on the page, and gives them their looks.
#include "runtime/trace/picture/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/drawing/canvas.h"
#include "runtime/trace/report/quantities.h"

namespace shoal {
namespace {

constexpr double kWidth = 1600;
constexpr double kLeft = 190;    // the beginning of time
constexpr double kRight = 1576;  // the end of time
constexpr double kHeadBottom = 108;
constexpr double kMomentsHeight = 26;
constexpr double kStepsHeight = 24;
constexpr double kLaneHeight = 30;
constexpr double kPhaseHeight = 18;
constexpr double kLaneGap = 6;
constexpr double kGroupGap = 12;
constexpr double kAxisHeight = 40;
constexpr double kCaptionHeight = 22;

constexpr std::string_view kInk = "#1f2933";
constexpr std::string_view kGrey = "#7b8794";
constexpr std::string_view kRed = "#d64545";
constexpr std::string_view kGreen = "#2f8f4e";

struct Look {
  PieceKind kind;
  std::string_view fill;
  std::string_view word;
};

constexpr std::array<Look, 8> kLooks = {{{PieceKind::kForward, "#4a90d9", "forward"},
                                         {PieceKind::kLoss, "#7661c4", "forward, loss and backward (last stage)"},
                                         {PieceKind::kBackward, "#e8853d", "backward"},
                                         {PieceKind::kReduce, "#2fa39a", "reduce"},
                                         {PieceKind::kApply, "#52606d", "apply"},
                                         {PieceKind::kEvaluate, "#c2a93b", "evaluate"},
                                         {PieceKind::kState, "#a0725b", "state"},
                                         {PieceKind::kPhase, "#b8c4ce", ""}}};

std::string_view fill_of(PieceKind kind) { return kLooks[static_cast<std::size_t>(kind)].fill; }

std::string_view phase_fill(const std::string& phase) {
  if (phase == "preparing") return "#cfe3dc";
  return phase == "reducing" ? "#8fcfc6" : "#d7d3e8";
}

// A step between ticks that people count in, giving about ten of them.
double tick_seconds(double span) {
  const double rough = span / 10;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= rough) return power * factor;
  }
  return power * 10;
}

struct LanePlace {
  double y = 0;
  double height = 0;
};

class Drawing {
 public:
  explicit Drawing(const Scene& scene) : scene_(scene), canvas_(kWidth, place_everything()) {}

  std::string run() && {
    canvas_.box({0, 0, kWidth, bottom_}, "#ffffff");
    define_patterns();
    draw_head();
    draw_panels();
    draw_steps();
    draw_links();
    draw_pieces();
    draw_gaps();
    draw_axis();
    draw_moments();
    return std::move(canvas_).finish();
  }

 private:
  double place_everything();
  void define_patterns();
  void draw_head();
  void draw_panels();
  void draw_steps();
  void draw_links();
  void draw_pieces();
  void draw_piece(const ScenePiece& piece, const LanePlace& place);
  void draw_gaps();
  void draw_axis();
  void draw_moments();
  void draw_caption(std::size_t index, double x, double y);
  double draw_legend_entry(double x, std::string_view fill, std::string_view attributes, std::string_view word);

  [[nodiscard]] double x_of(std::int64_t time_ns) const {
    const double share = static_cast<double>(time_ns - scene_.begin_ns) /
                         static_cast<double>(std::max<std::int64_t>(1, scene_.end_ns - scene_.begin_ns));
    return kLeft + std::clamp(share, 0.0, 1.0) * (kRight - kLeft);
  }
  [[nodiscard]] std::int64_t first_fault_ns() const {
    const auto fault = std::ranges::find_if(scene_.moments, &SceneMoment::is_fault);
    return fault == scene_.moments.end() ? scene_.begin_ns : fault->time_ns;
  }

  const Scene& scene_;
  std::vector<std::vector<LanePlace>> lanes_;  // by process and lane
  std::vector<LanePlace> groups_;
  double chart_top_ = 0;
  double chart_bottom_ = 0;
  double bottom_ = 0;
  Canvas canvas_;
};

double Drawing::place_everything() {
  double y = kHeadBottom + kMomentsHeight + kStepsHeight + kGroupGap;
  chart_top_ = kHeadBottom + kMomentsHeight;
  for (const SceneProcess& process : scene_.processes) {
    auto& lanes = lanes_.emplace_back();
    const double begin = y;
    for (const SceneLane& lane : process.lanes) {
      const bool is_phase = !lane.pieces.empty() && lane.pieces.front().kind == PieceKind::kPhase;
      lanes.push_back({y, is_phase ? kPhaseHeight : kLaneHeight});
      y += lanes.back().height + kLaneGap;
    }
    if (process.lanes.empty()) y += kPhaseHeight + kLaneGap;
    groups_.push_back({begin, y - kLaneGap - begin});
    y += kGroupGap - kLaneGap;
  }
  chart_bottom_ = y;
  const auto rows = static_cast<double>((scene_.moments.size() + 1) / 2);
  bottom_ = chart_bottom_ + kAxisHeight + (rows > 0 ? rows * kCaptionHeight + 24 : 0);
  return bottom_;
}

void Drawing::define_patterns() {
  canvas_.raw(
      "<defs>"
      "<pattern id=\"lost\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
      "<rect width=\"6\" height=\"6\" fill=\"#ffffff\" fill-opacity=\".55\"/>"
      "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#d64545\" stroke-width=\"2.4\"/></pattern>"
      "<pattern id=\"gone\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
      "<rect width=\"8\" height=\"8\" fill=\"#fdecec\"/>"
      "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"8\" stroke=\"#f5c6c6\" stroke-width=\"3\"/></pattern>"
      "</defs>\n");
}

double Drawing::draw_legend_entry(double x, std::string_view fill, std::string_view attributes, std::string_view word) {
  canvas_.box({x, 80, 16, 12}, fill, attributes);
  canvas_.text(x + 22, 90.5, word, {12, kInk});
  return x + 22 + width_of(word, 12) + 20;
}

void Drawing::draw_head() {
  canvas_.text(24, 36, scene_.title, {22, kInk, Anchor::kStart, true});
  const std::string window =
      compose(scene_.story, scene_.story.empty() ? "" : "  ·  ", seconds_text(scene_.begin_ns), " to ",
              seconds_text(scene_.end_ns), " of the run  ·  numbers in the boxes are microbatches");
  canvas_.text(24, 58, window, {13, kGrey});
  std::array<bool, kLooks.size()> is_used{};
  for (const SceneProcess& process : scene_.processes) {
    for (const SceneLane& lane : process.lanes) {
      for (const ScenePiece& piece : lane.pieces) is_used[static_cast<std::size_t>(piece.kind)] = true;
    }
  }
  double x = 24;
  for (const Look& look : kLooks) {
    if (look.word.empty() || !is_used[static_cast<std::size_t>(look.kind)]) continue;
    x = draw_legend_entry(x, look.fill, "rx=\"2\"", look.word);
  }
  x = draw_legend_entry(x, "url(#lost)", "rx=\"2\" stroke=\"#d64545\"", "lost with its replica");
  x = draw_legend_entry(x, "#ffffff", "rx=\"2\" stroke=\"#1f2933\" stroke-width=\"2\"", "computed again");
  draw_legend_entry(x, "url(#gone)", "rx=\"2\"", "process gone");
}

void Drawing::draw_panels() {
  for (std::size_t i = 0; i < scene_.processes.size(); ++i) {
    const SceneProcess& process = scene_.processes[i];
    canvas_.box({16, groups_[i].y - 4, kRight - 16 + 8, groups_[i].height + 8}, i % 2 == 0 ? "#f5f7fa" : "#eef2f6",
                "rx=\"6\"");
    canvas_.text(26, groups_[i].y + 14, process.name, {13, kInk, Anchor::kStart, true});
    for (std::size_t lane = 0; lane < process.lanes.size(); ++lane) {
      const LanePlace& place = lanes_[i][lane];
      const std::string name = process.lanes[lane].name;
      canvas_.text(kLeft - 10, place.y + place.height / 2 + 4, name, {11, kGrey, Anchor::kEnd});
      canvas_.box({kLeft, place.y, kRight - kLeft, place.height}, "#ffffff", "rx=\"3\"");
    }
  }
}

// A step lasts from the commit before to its own.
void Drawing::draw_steps() {
  double before = kLeft;
  for (std::size_t i = 0; i <= scene_.commits.size(); ++i) {
    const bool is_open = i == scene_.commits.size();
    const double x = is_open ? kRight : x_of(scene_.commits[i].time_ns);
    canvas_.box({before, chart_top_, x - before, kStepsHeight}, i % 2 == 0 ? "#e4e9ef" : "#d5dde6");
    const std::string label = is_open ? "" : "step " + scene_.commits[i].label;
    if (width_of(label, 12) + 6 < x - before) {
      canvas_.text((before + x) / 2, chart_top_ + 16, label, {12, kInk, Anchor::kMiddle, true});
    }
    if (!is_open) {
      canvas_.line(x, chart_top_, x, chart_bottom_ - 4, "stroke=\"#2f8f4e\" stroke-width=\"1.6\"");
    }
    before = x;
  }
  canvas_.text(kLeft - 10, chart_top_ + 16, "commits", {11, kGreen, Anchor::kEnd});
}

void Drawing::draw_links() {
  for (const SceneLink& link : scene_.links) {
    const LanePlace& from = lanes_[link.from_process][link.from_lane];
    const LanePlace& to = lanes_[link.to_process][link.to_lane];
    const double x1 = x_of(link.from_ns);
    const double x2 = x_of(link.to_ns);
    const double y1 = from.y + from.height / 2;
    const double y2 = to.y + to.height / 2;
    const double bend = std::max(12.0, (x2 - x1) / 2);
    canvas_.path("M" + pixel_text(x1) + " " + pixel_text(y1) + "C" + pixel_text(x1 + bend) + " " + pixel_text(y1) +
                     " " + pixel_text(x2 - bend) + " " + pixel_text(y2) + " " + pixel_text(x2) + " " + pixel_text(y2),
                 link.is_forward ? "fill=\"none\" stroke=\"#4a90d9\" stroke-opacity=\".35\""
                                 : "fill=\"none\" stroke=\"#e8853d\" stroke-opacity=\".35\"");
  }
}

void Drawing::draw_pieces() {
  for (std::size_t i = 0; i < scene_.processes.size(); ++i) {
    for (std::size_t lane = 0; lane < scene_.processes[i].lanes.size(); ++lane) {
      for (const ScenePiece& piece : scene_.processes[i].lanes[lane].pieces) draw_piece(piece, lanes_[i][lane]);
    }
  }
}

void Drawing::draw_piece(const ScenePiece& piece, const LanePlace& place) {
  const double x = x_of(piece.begin_ns);
  const double width = std::max(1.2, x_of(piece.end_ns) - x);
  const bool is_phase = piece.kind == PieceKind::kPhase;
  const Box box{x, place.y + 2, width, place.height - 4};
  const std::string_view fill = is_phase ? phase_fill(piece.label) : fill_of(piece.kind);
  const bool is_again = piece.fate == PieceFate::kAgain;
  canvas_.box(box, fill, is_again ? "rx=\"2\" stroke=\"#1f2933\" stroke-width=\"2\"" : "rx=\"2\"", piece.tooltip);
  if (piece.fate == PieceFate::kLost || piece.is_cut) {
    canvas_.box(box, "url(#lost)", "rx=\"2\" stroke=\"#d64545\" pointer-events=\"none\"");
  }
  const double size = is_phase ? 10 : 12;
  if (piece.label.empty() || width_of(piece.label, size) + 4 > width) return;
  const bool is_light = is_phase || piece.fate == PieceFate::kLost || piece.is_cut;
  canvas_.text(x + width / 2, place.y + place.height / 2 + size * 0.36, piece.label,
               {size, is_light ? kInk : "#ffffff", Anchor::kMiddle, !is_phase});
}

void Drawing::draw_gaps() {
  for (std::size_t i = 0; i < scene_.processes.size(); ++i) {
    for (const SceneGap& gap : scene_.processes[i].gaps) {
      const double x1 = x_of(gap.begin_ns);
      const double x2 = x_of(gap.end_ns);
      const LanePlace& group = groups_[i];
      canvas_.box({x1, group.y, x2 - x1, group.height}, "url(#gone)", "rx=\"3\" opacity=\".85\"");
      const std::string text =
          gap.comes_back ? "gone for " + seconds_text(gap.end_ns - gap.begin_ns) : std::string("gone");
      if (width_of(text, 12) + 30 < x2 - x1) {
        canvas_.text((x1 + x2) / 2, group.y + group.height / 2 + 4, text, {12, kRed, Anchor::kMiddle, true});
      }
      const double y = group.y + group.height / 2;
      if (gap.begin_ns >= scene_.begin_ns) {
        canvas_.circle(x1, y, 9, "fill=\"#d64545\" stroke=\"#ffffff\" stroke-width=\"1.5\"");
        canvas_.path(compose("M", pixel_text(x1 - 4), " ", pixel_text(y - 4), "l8 8m0 -8l-8 8"),
                     "stroke=\"#ffffff\" stroke-width=\"2.2\" stroke-linecap=\"round\"");
      }
      if (gap.comes_back && gap.end_ns <= scene_.end_ns) {
        canvas_.circle(x2, y, 9, "fill=\"#2f8f4e\" stroke=\"#ffffff\" stroke-width=\"1.5\"");
        canvas_.path(compose("M", pixel_text(x2 - 3), " ", pixel_text(y - 4.5), "l7 4.5l-7 4.5z"), "fill=\"#ffffff\"");
      }
    }
  }
}

void Drawing::draw_axis() {
  const double begin = static_cast<double>(scene_.begin_ns) / 1e9;
  const double end = static_cast<double>(scene_.end_ns) / 1e9;
  const double tick = tick_seconds(std::max(1e-6, end - begin));
  const int digits = tick >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(tick) - 1e-9));
  canvas_.line(kLeft, chart_bottom_, kRight, chart_bottom_, "stroke=\"#9aa5b1\"");
  for (double at = std::ceil(begin / tick) * tick; at <= end + 1e-9; at += tick) {
    const double x = x_of(static_cast<std::int64_t>(std::llround(at * 1e9)));
    canvas_.line(x, chart_bottom_, x, chart_bottom_ + 5, "stroke=\"#9aa5b1\"");
    canvas_.text(x, chart_bottom_ + 19, fixed_text(at, digits) + " s", {11, kGrey, Anchor::kMiddle});
  }
}

void Drawing::draw_moments() {
  double free_from = kLeft - 20;
  for (std::size_t i = 0; i < scene_.moments.size(); ++i) {
    const SceneMoment& moment = scene_.moments[i];
    const double x = x_of(moment.time_ns);
    const double at = std::max(x, free_from);
    free_from = at + 20;
    const double y = kHeadBottom + 9;
    const std::string_view look = moment.is_fault ? "stroke=\"#d64545\" stroke-width=\"2\""
                                                  : "stroke=\"#7b8794\" stroke-width=\"1\" stroke-dasharray=\"2 3\"";
    canvas_.line(x, chart_top_, x, chart_bottom_ - 4, look);
    canvas_.line(at, y, x, chart_top_, look);
    canvas_.circle(at, y, 9, moment.is_fault ? "fill=\"#d64545\"" : "fill=\"#52606d\"");
    canvas_.text(at, y + 4, compose(i + 1), {11, "#ffffff", Anchor::kMiddle, true});
    const std::size_t rows = (scene_.moments.size() + 1) / 2;
    const double column = i < rows ? 0 : 1;
    const double row = static_cast<double>(i < rows ? i : i - rows);
    draw_caption(i, 24 + column * (kWidth / 2 - 12), chart_bottom_ + kAxisHeight + 10 + row * kCaptionHeight);
  }
}

void Drawing::draw_caption(std::size_t index, double x, double y) {
  const SceneMoment& moment = scene_.moments[index];
  canvas_.circle(x + 9, y - 4, 9, moment.is_fault ? "fill=\"#d64545\"" : "fill=\"#52606d\"");
  canvas_.text(x + 9, y, compose(index + 1), {11, "#ffffff", Anchor::kMiddle, true});
  const std::int64_t since = moment.time_ns - first_fault_ns();
  const std::string when = "+" + fixed_text(static_cast<double>(since) / 1e6, 0) + " ms";
  canvas_.text(x + 84, y, when, {12, kGrey, Anchor::kEnd});
  canvas_.text(x + 94, y, moment.text, {13, moment.is_fault ? kRed : kInk});
}

}  // namespace

std::string draw(const Scene& scene) { return Drawing(scene).run(); }

Result<std::string> picture_of(const RunTrace& trace, const PictureWindow& window) {
  const auto scene = compose_scene(trace, window);
  if (!scene) return scene.failure();
  return draw(*scene);
}

}  // namespace shoal
