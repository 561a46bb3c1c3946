// Rows and curves.
#include "runtime/experiment/experiment_report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <optional>
#include <sstream>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {
namespace {

std::string signed_percent(double percent) { return (percent > 0 ? "+" : "") + number_text(percent, 2) + " %"; }

// Index of the arm that this one is compared with.
std::optional<std::size_t> base_of(const Experiment& experiment, const ExperimentArm& arm) {
  const auto base = std::ranges::find(experiment.arms, arm.against, &ExperimentArm::name);
  if (arm.against.empty() || base == experiment.arms.end()) return std::nullopt;
  return static_cast<std::size_t>(base - experiment.arms.begin());
}

const RunEvaluation* last_evaluation(const RunOutcome& run) {
  return run.finished_step && !run.evaluations.empty() ? &run.evaluations.back() : nullptr;
}

double percent_of(double value, double base) { return 100 * (value / base - 1); }

std::optional<double> published_difference(const Experiment& experiment, const ExperimentArm& arm) {
  const auto base = base_of(experiment, arm);
  if (!base) return std::nullopt;
  return percent_of(arm.published_perplexity, experiment.arms[*base].published_perplexity);
}

std::optional<double> measured_difference(const ExperimentAnswer& answer, std::size_t index) {
  const auto base = base_of(answer.experiment, answer.experiment.arms[index]);
  if (!base) return std::nullopt;
  const RunEvaluation* const own = last_evaluation(answer.outcomes[index]);
  const RunEvaluation* const other = last_evaluation(answer.outcomes[*base]);
  if (own == nullptr || other == nullptr) return std::nullopt;
  return percent_of(std::exp(own->loss), std::exp(other->loss));
}

std::string difference_cell(const std::optional<double>& percent) { return percent ? signed_percent(*percent) : ""; }

std::string row_of(const ExperimentAnswer& answer, std::size_t index) {
  const ExperimentArm& arm = answer.experiment.arms[index];
  const RunOutcome& outcome = answer.outcomes[index];
  std::string text = "| " + arm.meaning + " | ";
  if (const RunEvaluation* const last = last_evaluation(outcome)) {
    text += compose(number_text(static_cast<double>(outcome.tokens) / 1e6, 2), " | ", outcome.rounds, " | ",
                    number_text(last->loss, 4), " | ", number_text(last->bits_per_byte, 4), " | ",
                    number_text(std::exp(last->loss), 3), " | ");
  } else {
    text += "not finished | | | | | ";
  }
  return text + difference_cell(measured_difference(answer, index)) + " | " + number_text(arm.published_perplexity, 2) +
         " | " + difference_cell(published_difference(answer.experiment, arm)) + " |\n";
}

// A little more than what is shown, and never nothing.
ChartAxis axis_around(const std::string& label, const std::vector<double>& values) {
  if (values.empty()) return {label, 0, 1, AxisScale::kLinear};
  const auto [low, high] = std::ranges::minmax(values);
  const double margin = std::max((high - low) * 0.05, 1e-3);
  return {label, low - margin, high + margin, AxisScale::kLinear};
}

ChartPanel learning_panel(const ExperimentAnswer& answer) {
  ChartPanel panel{
      "validation while training", {"steps", 0, std::max(1.0, static_cast<double>(answer.steps)), {}}, {}, {}};
  std::vector<double> losses;
  for (std::size_t i = 0; i < answer.outcomes.size(); ++i) {
    ChartCurve curve{answer.experiment.arms[i].meaning, {}, false};
    for (const RunEvaluation& evaluation : answer.outcomes[i].evaluations) {
      if (evaluation.is_final) continue;
      curve.points.push_back({static_cast<double>(evaluation.step), evaluation.loss});
      losses.push_back(evaluation.loss);
    }
    panel.curves.push_back(std::move(curve));
  }
  panel.y = axis_around("validation loss, nats per token", losses);
  return panel;
}

ChartPanel difference_panel(const ExperimentAnswer& answer) {
  ChartCurve ours{"measured", {}, false};
  ChartCurve theirs{"published", {}, true};
  std::vector<double> percents = {0};
  std::vector<double> places;
  for (std::size_t i = 0; i < answer.outcomes.size(); ++i) {
    const ExperimentArm& arm = answer.experiment.arms[i];
    places.push_back(arm.at);
    const auto published = published_difference(answer.experiment, arm);
    if (!published) continue;
    theirs.points.push_back({arm.at, *published});
    percents.push_back(*published);
    const auto measured = measured_difference(answer, i);
    if (!measured) continue;
    ours.points.push_back({arm.at, *measured});
    percents.push_back(*measured);
  }
  return {"perplexity against what it is compared with",
          axis_around(*answer.experiment.varied, places),
          axis_around("difference, %", percents),
          {ours, theirs}};
}

}  // namespace

std::string markdown_of(const ExperimentAnswer& answer, const std::string& picture_name) {
  const Experiment& experiment = answer.experiment;
  std::string text = "# " + experiment.question + "\n\n`" + answer.command + "`: " + compose(answer.steps) +
                     " steps of each arm.\n\n"
                     "| arm | M tokens | rounds | validation loss | bits per byte | perplexity | "
                     "against its base | published perplexity | published against its base |\n"
                     "|---|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < experiment.arms.size(); ++i) text += row_of(answer, i);
  text += "\n![Validation loss](" + picture_name + ")\n\n" +
          "The table has the losses of the final evaluations; the curves are of the evaluations while training.\n\n" +
          "Compared with: ";
  std::string pairs;
  for (const ExperimentArm& arm : experiment.arms) {
    const auto base = base_of(experiment, arm);
    if (base) pairs += (pairs.empty() ? "" : "; ") + arm.meaning + " with " + experiment.arms[*base].meaning;
  }
  text += pairs + ".\n\nPublished: " + experiment.published + ".\nWhat differs:\n";
  for (const std::string& sentence : experiment.differences) text += "* " + sentence + "\n";
  return text;
}

Chart chart_of(const ExperimentAnswer& answer) {
  Chart chart{answer.experiment.question, compose(answer.steps, " steps of each arm"), {learning_panel(answer)}};
  if (answer.experiment.varied) chart.panels.push_back(difference_panel(answer));
  return chart;
}

}  // namespace shoal
