// A map of averages.
#include "runtime/cluster/balance/measured_speeds.h"

#include <cmath>

namespace shoal {

void MeasuredSpeeds::hear(ProcessIncarnation process, double load, const MeasuredWork& work) {
  constexpr double kMsPerSecond = 1000;
  const double computed_s = work.computed_ms / kMsPerSecond;
  const double speed = load * work.microbatches / computed_s;
  if (work.microbatches == 0 || !(computed_s > 0) || !std::isfinite(speed) || !(speed > 0)) return;
  const auto [known, is_first] = speeds_.try_emplace(process, speed);
  const double weight = 1 - std::pow(1 - kNewestWeight, work.microbatches);
  if (!is_first) known->second += weight * (speed - known->second);
}

double MeasuredSpeeds::of(ProcessIncarnation process) const {
  const auto known = speeds_.find(process);
  if (known != speeds_.end()) return known->second;
  if (speeds_.empty()) return 1;
  double sum = 0;
  for (const auto& [measured, speed] : speeds_) sum += speed;
  return sum / static_cast<double>(speeds_.size());
}

}  // namespace shoal
