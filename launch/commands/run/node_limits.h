// The bounds of what a node gives to its run, `--memory`, `--limit-up`, `--limit-down`: as a person says them for the
// node, and as its keeper deals them to its workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "launch/options.h"
#include "runtime/base/error.h"

namespace shoal {

// None: all memory that is free, any rate.
struct NodeLimits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> up_bit_s;
  std::optional<std::uint64_t> down_bit_s;
};

// Errors: kUsage.
[[nodiscard]] Result<NodeLimits> node_limits_of(const Options& options);
// The memory that a worker states at its join: as much as is free of its device's, or of the machine's where it
// computes on the processor, and no more than its limit; a byte where nothing is free. 0: neither is known.
[[nodiscard]] std::uint64_t memory_offered(const NodeLimits& limits, std::optional<std::uint64_t> free_bytes);
// Says whether each of so many devices gets a rate that it can work with. Errors: kUsage.
[[nodiscard]] Status check_shares(const NodeLimits& limits, std::size_t devices);

}  // namespace shoal
