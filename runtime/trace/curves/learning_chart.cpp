// Says which series go into which panel, in which units, and writes the notes.
#include "runtime/trace/curves/learning_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/curves/thinned.h"

namespace shoal {
namespace {

constexpr std::size_t kLossBins = 400;        // parts of a curve over 880 pixels: two or three points in each
constexpr std::size_t kThroughputBins = 150;  // wide enough for a mean over some steps
constexpr double kApart = 10;                 // runs so many times as quick as others share a logarithmic axis

// Writes a huge number as a progress line does: 5.5e28.
std::string short_number(double value, int digits) {
  std::ostringstream out;
  out << std::setprecision(digits) << value;
  std::string text = std::move(out).str();
  const std::size_t exponent = text.find("e+");
  if (exponent == std::string::npos) return text;
  const std::size_t first = text.find_first_not_of("+0", exponent + 1);
  return text.erase(exponent + 1, std::min(first, text.size() - 1) - exponent - 1);
}

// The unit of a horizontal axis: what its values are divided by, and how it is called.
struct Unit {
  double size = 1;
  const char* name = "";
};

Unit unit_of(PlotAxis axis, double largest) {
  if (axis == PlotAxis::kTime) {
    if (largest >= 3 * 3600) return {3600, "training time, hours"};
    return largest >= 180 ? Unit{60, "training time, minutes"} : Unit{1, "training time, seconds"};
  }
  const bool is_tokens = axis == PlotAxis::kTokens;
  if (largest >= 1e9) return {1e9, is_tokens ? "tokens, thousand millions" : "steps, thousand millions"};
  if (largest >= 1e6) return {1e6, is_tokens ? "tokens, millions" : "steps, millions"};
  return {1, is_tokens ? "tokens" : "steps"};
}

double position_of(const SeriesStep& step, PlotAxis axis) {
  if (axis == PlotAxis::kTime) return step.elapsed_s;
  return static_cast<double>(axis == PlotAxis::kTokens ? step.tokens_total : step.applied);
}

// Places the state after so many steps: with the last step that it has.
double position_of(const RunSeries& run, std::uint64_t applied, PlotAxis axis) {
  if (axis == PlotAxis::kSteps) return static_cast<double>(applied);
  const auto after = std::ranges::upper_bound(run.steps, applied, {}, &SeriesStep::applied);
  return after == run.steps.begin() ? 0 : position_of(*(after - 1), axis);
}

double position_of(const RunSeries& run, const SeriesMoment& moment, PlotAxis axis) {
  return axis == PlotAxis::kTime ? moment.elapsed_s : position_of(run, moment.applied, axis);
}

class ChartOfRuns {
 public:
  ChartOfRuns(const std::vector<RunSeries>& runs, PlotAxis axis) : runs_(runs), axis_(axis) {
    double largest = axis == PlotAxis::kSteps ? 5 : 1e-3;
    for (const RunSeries& run : runs) {
      if (!run.steps.empty()) largest = std::max(largest, position_of(run.steps.back(), axis));
      for (const auto& evaluation : run.evaluations) {
        largest = std::max(largest, position_of(run, evaluation.applied, axis));
      }
    }
    unit_ = unit_of(axis, largest);
    chart_.x = {unit_.name, 0, largest / unit_.size, AxisScale::kLinear};
  }

  StackedChart make() && {
    chart_.title = runs_.size() == 1 ? runs_.front().name : compose(runs_.size(), " runs");
    chart_.subtitle = runs_.size() == 1 ? story_of(runs_.front()) : compose("by ", chart_.x.label);
    for (const RunSeries& run : runs_) chart_.series.push_back(run.name);
    add_losses();
    add_throughput();
    for (const auto& [kind, label] : kRows) add_row(kind, label);
    return std::move(chart_);
  }

 private:
  using Row = std::pair<MomentKind, const char*>;
  static constexpr std::array kRows = {Row{MomentKind::kFault, "faults"},
                                       Row{MomentKind::kSkip, "skipped"},
                                       Row{MomentKind::kJoin, "joins"},
                                       Row{MomentKind::kReturn, "resumed at"},
                                       Row{MomentKind::kBranch, "branches"},
                                       Row{MomentKind::kRound, "rounds"},
                                       Row{MomentKind::kCheckpoint, "checkpoints"}};

  static std::string story_of(const RunSeries& run) {
    std::string text = compose(run.steps.empty() ? 0 : run.steps.back().applied, " steps");
    if (!run.steps.empty() && run.steps.back().tokens_total > 0) {
      text +=
          compose(", ", short_number(static_cast<double>(run.steps.back().tokens_total) / 1e6, 3), " million tokens");
    }
    const auto skipped = std::ranges::count(run.steps, true, &SeriesStep::is_skipped);
    if (skipped > 0) text += compose(", ", skipped, " of them skipped");
    if (run.abandoned > 0) text += compose(", ", counted(run.abandoned, "abandoned step"), " not drawn");
    const auto last =
        std::ranges::find(run.evaluations.rbegin(), run.evaluations.rend(), true, &SeriesEvaluation::is_final);
    if (last == run.evaluations.rend()) return text;
    text += compose(", final validation loss ", short_number(last->loss, 5));
    return last->windows > 0 ? text + compose(" (", last->windows, " windows)") : text;
  }

  // "(1280 windows)" where all evaluations of a kind are of one size.
  std::string windows_of(bool is_final) const {
    std::set<std::uint64_t> sizes;
    for (const RunSeries& run : runs_) {
      for (const SeriesEvaluation& one : run.evaluations) {
        if (one.is_final == is_final) sizes.insert(one.windows);
      }
    }
    if (sizes.size() > 1) return " (of different windows!)";
    return sizes.empty() || *sizes.begin() == 0 ? "" : compose(" (", *sizes.begin(), " windows)");
  }

  std::vector<ChartPoint> evaluations_of(const RunSeries& run, bool is_final) const {
    std::vector<ChartPoint> points;
    for (const SeriesEvaluation& one : run.evaluations) {
      if (one.is_final != is_final) continue;
      points.push_back({position_of(run, one.applied, axis_) / unit_.size, one.loss});
    }
    return points;
  }

  void add_curves(StackedPanel& panel, CurveLook look, const std::string& meaning, const auto& points_of) {
    bool has_points = false;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      StackedCurve curve{i, look, points_of(runs_[i])};
      if (curve.points.empty()) continue;
      has_points = true;
      panel.curves.push_back(std::move(curve));
    }
    if (has_points) chart_.keys.push_back({look, meaning});
  }

  void add_losses() {
    StackedPanel panel{"Loss", note_of(shown()), {"nats per token", shown().low, shown().high, {}}, 320, {}};
    add_curves(panel, CurveLook::kFaint, "training loss, before each update", [this](const RunSeries& run) {
      std::vector<ChartPoint> points;
      for (const SeriesStep& step : run.steps) {
        points.push_back({position_of(step, axis_) / unit_.size, step.is_skipped ? kNoNumber : step.loss});
      }
      return thinned(points, kLossBins);
    });
    add_curves(panel, CurveLook::kCircles, "periodic validation" + windows_of(false),
               [this](const RunSeries& run) { return thinned(evaluations_of(run, false), kLossBins); });
    add_curves(panel, CurveLook::kDiamonds, "final validation" + windows_of(true),
               [this](const RunSeries& run) { return evaluations_of(run, true); });
    chart_.panels.push_back(std::move(panel));
  }

  LossRange shown() const {
    std::vector<double> losses;
    std::vector<double> begun;
    for (const RunSeries& run : runs_) {
      for (const SeriesStep& step : run.steps) losses.push_back(step.is_skipped ? kNoNumber : step.loss);
      for (const SeriesEvaluation& one : run.evaluations) losses.push_back(one.loss);
      const auto first = std::ranges::find_if(
          run.steps, [](const SeriesStep& one) { return std::isfinite(one.loss) && !one.is_skipped; });
      if (first != run.steps.end()) begun.push_back(first->loss);
    }
    return loss_range(losses, begun);
  }

  std::string note_of(const LossRange& range) const {
    std::string note;
    if (range.beyond > 0) {
      note = compose(range.beyond, range.beyond == 1 ? " loss" : " losses", " above ", short_number(range.high, 3),
                     " (up to ", short_number(range.largest, 2), ") drawn at the edge");
    }
    std::uint64_t missing = 0;
    std::uint64_t damaged = 0;
    std::uint64_t skipped = 0;
    std::uint64_t beyond = 0;
    for (const RunSeries& run : runs_) {
      damaged += run.damaged.count;
      missing += static_cast<std::uint64_t>(std::ranges::count_if(
          run.steps, [](const auto& one) { return !std::isfinite(one.loss) && !one.is_skipped; }));
      skipped += static_cast<std::uint64_t>(std::ranges::count(run.steps, true, &SeriesStep::is_skipped));
      beyond += static_cast<std::uint64_t>(
          std::ranges::count_if(run.moments, [&](const SeriesMoment& one) { return is_beyond(run, one); }));
    }
    const auto add = [&note](std::uint64_t count, const char* one, const char* what) {
      if (count > 0) note += compose(note.empty() ? "" : "; ", counted(count, one), what);
    };
    add(missing, "step", " without a finite loss left out");
    add(skipped, "skipped step", " left out");
    add(beyond, "event", " of abandoned steps left out");
    add(damaged, "damaged line", " left out");
    return note;
  }

  // True for a moment in steps that the run abandoned and has not trained again as far as that.
  bool is_beyond(const RunSeries& run, const SeriesMoment& moment) const {
    const std::uint64_t last = run.steps.empty() ? 0 : run.steps.back().applied;
    return axis_ != PlotAxis::kTime && moment.is_abandoned && moment.applied > last;
  }

  // Returns the steps of which a point of the run is the mean. By its own length: beside a run of 50000 steps one of
  // 100 is a curve, too, and not the one point of its mean.
  static std::size_t steps_per_point(const RunSeries& run) {
    return std::max<std::size_t>(1, (run.steps.size() + kThroughputBins - 1) / kThroughputBins);
  }

  // "", ", mean of 6 steps", ", mean of 1 to 6 steps".
  std::string means_of() const {
    std::set<std::size_t> widths;
    for (const RunSeries& run : runs_) widths.insert(steps_per_point(run));
    const std::size_t widest = *widths.rbegin();
    if (widest == 1) return "";
    const std::string least = widths.size() > 1 ? compose(*widths.begin(), " to ") : std::string();
    return compose(", mean of ", least, widest, " steps");
  }

  // A step whose time is not known counts nothing. The last point may be of fewer steps.
  std::vector<ChartPoint> throughput_of(const RunSeries& run, std::size_t width) const {
    std::vector<ChartPoint> points;
    for (std::size_t begin = 0; begin < run.steps.size(); begin += width) {
      double tokens = 0;
      double seconds = 0;
      const std::size_t end = std::min(begin + width, run.steps.size());
      for (std::size_t i = begin; i < end; ++i) {
        if (run.steps[i].step_ms <= 0) continue;
        tokens += static_cast<double>(run.steps[i].tokens);
        seconds += run.steps[i].step_ms / 1000;
      }
      points.push_back(
          {position_of(run.steps[end - 1], axis_) / unit_.size, seconds > 0 ? tokens / seconds : kNoNumber});
    }
    return points;
  }

  void add_throughput() {
    StackedPanel panel{"Throughput", "", {"tokens/s", 0, 1, {}}, 130, {}};
    std::vector<double> rates;
    std::vector<double> middles;  // one for each run that has a rate
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      StackedCurve curve{i, CurveLook::kLine, throughput_of(runs_[i], steps_per_point(runs_[i]))};
      std::vector<double> own;
      for (const ChartPoint& point : curve.points) {
        if (point.y > 0) own.push_back(point.y);
      }
      std::ranges::sort(own);
      if (!own.empty()) middles.push_back(own[own.size() / 2]);
      rates.insert(rates.end(), own.begin(), own.end());
      panel.curves.push_back(std::move(curve));
    }
    if (rates.empty()) return;
    const double unit = std::ranges::max(rates) >= 1e6 ? 1e6 : 1;
    if (unit > 1) panel.y.label = "million tokens/s";
    for (StackedCurve& curve : panel.curves) {
      for (ChartPoint& point : curve.points) point.y /= unit;
    }
    panel.y.high = std::ranges::max(rates) / unit * 1.05;
    if (std::ranges::max(middles) > kApart * std::ranges::min(middles)) {
      panel.y.scale = AxisScale::kLogarithmic;
      panel.y.low = std::ranges::min(rates) / unit / 1.05;
    }
    panel.title += means_of();
    chart_.panels.push_back(std::move(panel));
  }

  void add_row(MomentKind kind, const char* label) {
    StackedRow row{label, {}};
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      StackedMoments moments{i, {}};
      for (const SeriesMoment& moment : runs_[i].moments) {
        if (moment.kind == kind && !is_beyond(runs_[i], moment))
          moments.at.push_back(position_of(runs_[i], moment, axis_) / unit_.size);
      }
      if (!moments.at.empty()) row.moments.push_back(std::move(moments));
    }
    if (!row.moments.empty()) chart_.rows.push_back(std::move(row));
  }

  const std::vector<RunSeries>& runs_;
  PlotAxis axis_;
  Unit unit_;
  StackedChart chart_;
};

}  // namespace

std::optional<PlotAxis> plot_axis_named(std::string_view word) {
  if (word == "steps") return PlotAxis::kSteps;
  if (word == "tokens") return PlotAxis::kTokens;
  return word == "time" ? std::optional(PlotAxis::kTime) : std::nullopt;
}

LossRange loss_range(const std::vector<double>& losses, const std::vector<double>& begun) {
  constexpr double kHighestBegin = 20;  // no model that guesses among all tokens of a vocabulary has more
  constexpr double kBeyond = 1.5;       // times what a run begins with
  std::vector<double> finite;
  for (const double loss : losses) {
    if (std::isfinite(loss)) finite.push_back(loss);
  }
  if (finite.empty()) return {};
  std::ranges::sort(finite);
  double begin = std::min(kHighestBegin, finite[finite.size() / 2]);
  for (const double loss : begun) begin = std::max(begin, std::min(kHighestBegin, loss));
  const double limit = std::max(begin * kBeyond, finite.front() + 1e-3);
  const auto beyond = std::ranges::upper_bound(finite, limit);
  LossRange range{finite.front(), finite.back(), static_cast<std::uint64_t>(finite.end() - beyond), finite.back()};
  if (range.beyond > 0) range.high = limit;
  const double margin = std::max((range.high - range.low) * 0.04, 1e-3);
  range.low -= margin;
  if (range.beyond == 0) range.high += margin;
  return range;
}

StackedChart learning_chart(const std::vector<RunSeries>& runs, PlotAxis axis) {
  ENSURE(!runs.empty(), "a picture of runs has one");
  return ChartOfRuns(runs, axis).make();
}

}  // namespace shoal
