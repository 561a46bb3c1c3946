// Names of the tensors of a stage's state in images and checkpoints.
//
//   <name>                     a weight: the local one of a member where rounds are far between
//   optimizer.<what>.<name>    of the inner optimiser
//   outer.<name>               the agreed weight (sync.mode = diloco): it stands for the model, the local one does not
//   outer.<what>.<name>        momentum and what else the outer update needs
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace shoal {

inline constexpr std::string_view kAgreedPrefix = "outer.";
// Prefixes of everything that belongs to a weight.
inline constexpr std::array<std::string_view, 9> kStatePrefixes = {
    "optimizer.exp_avg.", "optimizer.exp_avg_sq.", "optimizer.updates.", "outer.", "outer.momentum.", "outer.start.",
    "outer.own.",         "outer.own_momentum.",   "outer.contribution."};

[[nodiscard]] inline bool is_weight_name(std::string_view name) {
  return !name.starts_with("optimizer.") && !name.starts_with(kAgreedPrefix);
}

[[nodiscard]] inline std::string with_prefix(std::string_view prefix, const std::string& name) {
  return std::string(prefix) + name;
}

}  // namespace shoal
