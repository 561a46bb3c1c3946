// Parts of the inner optimiser in a checkpoint, by configuration: one truth for writing its state, and for making the
// state of an optimiser that has made no step, in which every part is zero.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/base/config.h"

namespace shoal {

inline constexpr std::string_view kExpAvg = "optimizer.exp_avg.";
inline constexpr std::string_view kExpAvgSq = "optimizer.exp_avg_sq.";
inline constexpr std::string_view kUpdates = "optimizer.updates.";  // since the averages of the tensor were empty

enum class PartSize { kOfTheWeight, kOneValue };
// float32 tensors, one for each weight, under a prefix.
struct InnerPart {
  std::string_view prefix;
  PartSize size = PartSize::kOfTheWeight;
};

// Returns what becomes of averages after a round; keep where there are no rounds or no averages.
[[nodiscard]] inline InnerState inner_state_of(const Config& config) {
  const bool has_choice = config.sync.mode == SyncMode::kDiloco && config.optim.kind == OptimizerKind::kAdamw;
  return has_choice ? config.sync.inner_state : InnerState::kKeep;
}

// SGD has none.
[[nodiscard]] inline std::vector<InnerPart> inner_parts(const Config& config) {
  if (config.optim.kind != OptimizerKind::kAdamw) return {};
  std::vector<InnerPart> parts = {{kExpAvg}, {kExpAvgSq}};
  if (inner_state_of(config) == InnerState::kReset) parts.push_back({kUpdates, PartSize::kOneValue});
  return parts;
}

}  // namespace shoal
