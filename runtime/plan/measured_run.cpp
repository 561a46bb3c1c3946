// Medians of each part of a step by itself.
#include "runtime/plan/measured_run.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/cluster/balance/machine_places.h"

namespace shoal {

void StepTimesReader::add(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step_ms") || !json.contains("time")) return;
  const auto& time = json["time"];
  if (!json["step_ms"].is_number() || !time.is_object()) return;
  for (const char* key : {"forward", "backward", "reduce"}) {
    if (!time.contains(key) || !time[key].is_number()) return;
  }
  double commit_ms = 0;
  for (const char* key : {"commit", "apply"}) {
    if (time.contains(key) && time[key].is_number()) commit_ms += time[key].get<double>();
  }
  steps_.push_back({json["step_ms"].get<double>(), time["forward"].get<double>(), time["backward"].get<double>(),
                    time["reduce"].get<double>(), commit_ms});
}

Result<MeasuredStep> StepTimesReader::measured() const {
  const auto first = steps_.begin() + static_cast<std::ptrdiff_t>(steps_.size() / 10);
  if (first == steps_.end()) return fail(Error::kInvalidData, "no step with its times");
  const auto median = [&](auto value) {
    std::vector<double> values;
    std::transform(first, steps_.end(), std::back_inserter(values), value);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  const double forward_ms = median([](const StepTimes& step) { return step.forward_ms; });
  const double backward_ms = median([](const StepTimes& step) { return step.backward_ms; });
  MeasuredStep out;
  out.step_s = median([](const StepTimes& step) { return step.step_ms - step.reduce_ms; }) / 1000;
  out.reduce_s = median([](const StepTimes& step) { return step.reduce_ms; }) / 1000;
  out.compute_s = (forward_ms + backward_ms) / 1000;
  out.commit_s = median([](const StepTimes& step) { return step.commit_ms; }) / 1000;
  const bool is_forward_measured = forward_ms > 0;
  out.forward_share = is_forward_measured ? forward_ms / (forward_ms + backward_ms) : 1 / kPassesOfTraining;
  out.steps = static_cast<std::size_t>(steps_.end() - first);
  const bool is_usable = out.step_s > 0 && backward_ms > 0;
  if (!is_usable) return fail(Error::kInvalidData, "its steps take no time, or have no backward");
  return out;
}

}  // namespace shoal
