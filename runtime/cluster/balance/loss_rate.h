// Estimates the time between two losses of machines: what a move costs for good has to come back within it.
//
// Losses are counted with weights that decay, so that a storm that is over is forgotten. Pure: seconds come in,
// ascending, from any beginning.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace shoal {

class LossRate {
 public:
  static constexpr double kMemoryS = 1800;       // a loss of that age counts 1/e
  static constexpr double kObservedLeastS = 60;  // one loss in the first second is not one per second

  LossRate() = default;
  void begin(double now_s) { *this = LossRate(now_s); }
  void lost(double now_s) {
    weight_ = weight_at(now_s) + 1;
    as_of_s_ = now_s;
  }
  // Returns the mean time between two losses; infinite while there was none.
  [[nodiscard]] double between_s(double now_s) const {
    const double weight = weight_at(now_s);
    if (weight <= 0) return std::numeric_limits<double>::infinity();
    const double observed_s = kMemoryS * (1 - std::exp(-(now_s - began_s_) / kMemoryS));
    return std::max(observed_s, kObservedLeastS) / weight;
  }

 private:
  explicit LossRate(double now_s) : began_s_(now_s), as_of_s_(now_s) {}
  [[nodiscard]] double weight_at(double now_s) const { return weight_ * std::exp(-(now_s - as_of_s_) / kMemoryS); }

  double began_s_ = 0;
  double as_of_s_ = 0;
  double weight_ = 0;
};

}  // namespace shoal
