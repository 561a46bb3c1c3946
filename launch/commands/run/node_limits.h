// The bounds of what a node gives to its run, `--memory`, `--limit-up`, `--limit-down`: as a person says them for the
// node, and as its keeper deals them to its workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "launch/options.h"
#include "runtime/base/error.h"

namespace shoal {

// None: the memory that is available, any rate.
struct NodeLimits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> up_bit_s;
  std::optional<std::uint64_t> down_bit_s;
};

// Errors: kUsage.
[[nodiscard]] Result<NodeLimits> node_limits_of(const Options& options);
// Says whether each of so many devices gets a rate that it can work with. Errors: kUsage.
[[nodiscard]] Status check_shares(const NodeLimits& limits, std::size_t devices);

}  // namespace shoal
