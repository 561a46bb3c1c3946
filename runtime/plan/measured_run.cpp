// Lines that are no steps are skipped, broken ones too.
#include "runtime/plan/measured_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace shoal {
namespace {

struct StepTimes {
  double step_ms = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double reduce_ms = 0;
  double commit_ms = 0;
};

std::optional<StepTimes> times_in(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step_ms") || !json.contains("time")) return std::nullopt;
  const auto& time = json["time"];
  if (!json["step_ms"].is_number() || !time.is_object()) return std::nullopt;
  for (const char* key : {"forward", "backward", "reduce"}) {
    if (!time.contains(key) || !time[key].is_number()) return std::nullopt;
  }
  double commit_ms = 0;
  for (const char* key : {"commit", "apply"}) {
    if (time.contains(key) && time[key].is_number()) commit_ms += time[key].get<double>();
  }
  return StepTimes{json["step_ms"].get<double>(), time["forward"].get<double>(), time["backward"].get<double>(),
                   time["reduce"].get<double>(), commit_ms};
}

template <class Value>
double median(const std::vector<StepTimes>& steps, Value value) {
  std::vector<double> values;
  for (const StepTimes& step : steps) values.push_back(value(step));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

Result<MeasuredStep> measured_step(std::string_view metrics_lines) {
  std::vector<StepTimes> steps;
  while (!metrics_lines.empty()) {
    const std::size_t end = std::min(metrics_lines.find('\n'), metrics_lines.size());
    if (const auto times = times_in(metrics_lines.substr(0, end))) steps.push_back(*times);
    metrics_lines.remove_prefix(std::min(end + 1, metrics_lines.size()));
  }
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 10));
  if (steps.empty()) return fail(Error::kInvalidData, "no step with its times");
  const double forward_ms = median(steps, [](const StepTimes& step) { return step.forward_ms; });
  const double backward_ms = median(steps, [](const StepTimes& step) { return step.backward_ms; });
  MeasuredStep out;
  out.step_s = median(steps, [](const StepTimes& step) { return step.step_ms - step.reduce_ms; }) / 1000;
  out.reduce_s = median(steps, [](const StepTimes& step) { return step.reduce_ms; }) / 1000;
  out.compute_s = (forward_ms + backward_ms) / 1000;
  out.commit_s = median(steps, [](const StepTimes& step) { return step.commit_ms; }) / 1000;
  out.forward_share = forward_ms / (forward_ms + backward_ms);
  out.steps = steps.size();
  const bool is_usable = out.step_s > 0 && forward_ms > 0 && backward_ms > 0;
  if (!is_usable) return fail(Error::kInvalidData, "its steps take no time, or have no forward and backward");
  return out;
}

}  // namespace shoal
