// Tells which layer goes when, and how much that is.
#include "runtime/plan/scenario.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/ensure.h"
#include "runtime/plan/collective.h"

namespace shoal {

std::size_t fragment_of(const SyncSchedule& schedule, std::size_t layers, std::size_t layer) {
  const std::size_t fragments = schedule.offsets.size();
  return schedule.pattern == FragmentPattern::kStrided ? layer % fragments : layer * fragments / layers;
}

bool contributes_after(const SyncSchedule& schedule, std::size_t fragment, std::uint64_t steps) {
  return steps > 0 && steps % schedule.period_steps == schedule.offsets[fragment] % schedule.period_steps;
}

double payload_bits(const Scenario& scenario) {
  return scenario.workload.values_per_layer * scenario.schedule.bits_per_value;
}

double link_rate(const Network& network, std::size_t from, std::size_t to) {
  if (network.link_factors.empty()) return network.bits_per_s;
  return network.bits_per_s * std::min(network.link_factors[from], network.link_factors[to]);
}

double sent_bits_per_period(const Scenario& scenario) {
  return payload_bits(scenario) * static_cast<double>(scenario.workload.layers) *
         sent_share(scenario.network.exchange, scenario.network.workers);
}

SyncSchedule at_intervals(std::uint64_t H, std::size_t fragments) {
  ENSURE(H > 0 && fragments > 0 && fragments <= H, "a fragment has a step of its own");
  const double distance = static_cast<double>(H) / static_cast<double>(fragments);
  const auto interval = static_cast<std::uint64_t>(std::nearbyint(distance));
  SyncSchedule schedule;
  schedule.period_steps = interval * fragments;
  schedule.offsets.clear();
  for (std::size_t p = 0; p < fragments; ++p) schedule.offsets.push_back((p + 1) * interval);
  return schedule;
}

SyncSchedule within_rounds(std::uint64_t H, std::size_t fragments) {
  ENSURE(H > 0 && fragments > 0 && fragments <= H, "a fragment has a step of its own");
  SyncSchedule schedule;
  schedule.period_steps = H;
  schedule.offsets.clear();
  for (std::size_t p = 0; p < fragments; ++p) {
    schedule.offsets.push_back((2 * (p + 1) * H + fragments) / (2 * fragments));
  }
  return schedule;
}

}  // namespace shoal
