// Names and schedules.
#include "runtime/plan/methods.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, kMethods.size()> kNames = {
    "data_parallel", "diloco", "streaming", "streaming_overlap", "streaming_overlap_fp4", "eager_overlap_fp4"};

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

std::optional<std::string> problem_of(const Workload& work, const SyncSchedule& schedule) {
  if (work.layers == 0) return "a model has layers";
  if (!is_positive(work.step_s)) return "a step takes time";
  if (!(work.forward_share > 0 && work.forward_share < 1)) return "forward takes a part of the step";
  if (!std::isfinite(work.values_per_layer) || work.values_per_layer < 0) return "a layer has values";
  if (schedule.offsets.empty() || schedule.offsets.size() > work.layers) {
    return compose(schedule.offsets.size(), " fragments of ", work.layers, " layers: at least one layer each");
  }
  if (schedule.period_steps == 0) return "a period has steps";
  if (!is_positive(schedule.bits_per_value)) return "a value has bits";
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Method method) { return kNames[static_cast<std::size_t>(method)]; }

std::optional<Method> method_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return kMethods[static_cast<std::size_t>(found - kNames.begin())];
}

SyncSchedule schedule_of(Method method, const MethodSettings& settings) {
  const std::uint64_t H = method == Method::kDataParallel ? 1 : settings.H;
  const std::size_t fragments = method <= Method::kDiloco ? 1 : settings.fragments;
  SyncSchedule schedule =
      settings.grain == SyncGrain::kLayer ? at_intervals(H, fragments) : within_rounds(H, fragments);
  schedule.pattern = settings.pattern;
  schedule.grain = settings.grain;
  schedule.bits_per_value = method >= Method::kStreamingOverlapFp4 ? settings.narrow_bits : settings.bits;
  if (method >= Method::kStreamingOverlap) schedule.overlap_steps = settings.overlap_steps;
  if (method == Method::kEagerOverlapFp4) schedule.overlap_steps = schedule.period_steps;
  return schedule;
}

std::optional<std::string> problem_of(const Scenario& scenario) {
  if (auto problem = problem_of(scenario.workload, scenario.schedule)) return problem;
  const Network& network = scenario.network;
  if (network.workers == 0) return "somebody computes";
  if (!network.link_factors.empty() && network.link_factors.size() != network.workers) {
    return compose(network.link_factors.size(), " links of ", network.workers, " workers: one each");
  }
  if (!std::ranges::all_of(network.link_factors, is_positive)) return "a link has a rate above 0";
  if (!is_positive(network.bits_per_s)) return "bandwidth is above 0";
  if (!std::isfinite(network.latency_s) || network.latency_s < 0) return "latency is not below 0";
  if (!std::isfinite(network.jitter) || network.jitter < 0 || network.jitter > 1) return "jitter is between 0 and 1";
  return std::nullopt;
}

}  // namespace shoal
