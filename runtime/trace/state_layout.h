// Tells apart digests that may be compared (S-3) from those that may not: they are of the same tensors, and made alike.
//
// A run that goes on may be cut otherwise, or by a program that makes digests otherwise (P-27b).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

// Returns a number for these tensors of a state, in their order, and for this program's protocol version.
[[nodiscard]] std::uint64_t state_layout(const std::vector<std::string>& tensor_names);

}  // namespace shoal
