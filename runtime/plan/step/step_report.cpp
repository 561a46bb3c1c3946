// Columns, JSON.
#include "runtime/plan/step/step_report.h"

#include <algorithm>
#include <iomanip>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/plan/step/step_bound.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::ptrdiff_t kSteps = 2;  // that teach the planner
constexpr double kMs = 1e3;

// Of one number per step, behind the steps that teach.
double median_of(std::vector<double> per_step) {
  if (std::ssize(per_step) > kSteps) per_step.erase(per_step.begin(), per_step.begin() + kSteps);
  std::ranges::sort(per_step);
  const std::size_t count = per_step.size();
  return count == 0 ? 0 : (per_step[(count - 1) / 2] + per_step[count / 2]) / 2;
}

// Tells what a step could take, and its percentage of the median step.
struct Best {
  double ms = 0;
  double percent = 0;
};

Best best_of(const StepReport& report, double (*best_s)(const StepScene&, double now_s)) {
  std::vector<double> best;
  double begins_s = 0;
  for (const SimulatedStep& step : report.steps) {
    best.push_back(best_s(*report.scene, begins_s));
    begins_s += step.takes_s;
  }
  const double median = median_of(std::move(best));
  return {median * kMs, 100 * median / median_s(report.steps)};
}

}  // namespace

double median_s(const std::vector<SimulatedStep>& steps) {
  std::vector<double> times;
  for (const SimulatedStep& step : steps) times.push_back(step.takes_s);
  return median_of(std::move(times));
}

std::string text_of(const StepReport& report) {
  std::string text = "step         ms   microbatches of";
  for (const StepMachine& machine : report.scene->machines) text += " " + machine.name;
  text += "\n";
  std::size_t number = 0;
  std::size_t moves = 0;
  for (const SimulatedStep& step : report.steps) {
    text += compose(std::setw(4), number++, std::setw(11), number_text(step.takes_s * kMs, 0), "  ");
    for (const std::uint32_t share : step.shares) text += compose(" ", share);
    if (step.moves > moves) text += compose("   ", counted(step.moves - moves, "machine"), " moved");
    moves = step.moves;
    text += "\n";
  }
  const Best split = best_of(report, best_split_s);
  const Best bound = best_of(report, step_bound_s);
  text += compose("median ", number_text(median_s(report.steps) * kMs, 0), " ms, ", number_text(split.percent, 1),
                  " % of the best split of whole microbatches (", number_text(split.ms, 0), " ms), ",
                  number_text(bound.percent, 1), " % of what links allow (", number_text(bound.ms, 0), " ms)\n");
  return text;
}

std::string json_of(const StepReport& report) {
  Json json;
  json["steps"] = Json::array();
  for (const SimulatedStep& step : report.steps) {
    Json one = {{"ms", step.takes_s * kMs}, {"replicas", step.replicas}};
    for (std::size_t i = 0; i < step.shares.size(); ++i) {
      one["microbatches"][report.scene->machines[i].name] = step.shares[i];
    }
    json["steps"].push_back(one);
  }
  json["moves"] = report.steps.empty() ? 0 : report.steps.back().moves;
  json["median_ms"] = median_s(report.steps) * kMs;
  const Best split = best_of(report, best_split_s);
  const Best bound = best_of(report, step_bound_s);
  json["best_split_ms"] = split.ms;
  json["percent_of_best_split"] = split.percent;
  json["bound_ms"] = bound.ms;
  json["percent_of_bound"] = bound.percent;
  return json.dump(2) + "\n";
}

}  // namespace shoal
