// Sizes and rates are read as `shoal plan` reads them.
#include "launch/commands/run/node_limits.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/plan/resources/machine_kinds.h"

namespace shoal {

Result<NodeLimits> node_limits_of(const Options& options) {
  NodeLimits limits;
  if (const auto text = options.value("--memory")) {
    const auto bytes = bytes_of_text(*text);
    if (!bytes) return bytes.failure();
    limits.memory_bytes = *bytes;
  }
  const std::pair<const char*, std::optional<std::uint64_t> NodeLimits::*> rates[] = {
      {"--limit-up", &NodeLimits::up_bit_s}, {"--limit-down", &NodeLimits::down_bit_s}};
  for (const auto& [option, limit] : rates) {
    const auto text = options.value(option);
    if (!text) continue;
    const auto rate = rate_of_text(option, *text);
    if (!rate) return rate.failure();
    limits.*limit = *rate;
  }
  return limits;
}

std::uint64_t memory_offered(const NodeLimits& limits, std::optional<std::uint64_t> free_bytes) {
  if (!limits.memory_bytes && !free_bytes) return 0;
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  return std::max<std::uint64_t>(std::min(limits.memory_bytes.value_or(kAny), free_bytes.value_or(kAny)), 1);
}

Status check_shares(const NodeLimits& limits, std::size_t devices) {
  if (limits.memory_bytes && *limits.memory_bytes / std::max<std::size_t>(devices, 1) < kLeastMemory)
    return fail(Error::kUsage, "--memory: expected at least 1M for each --device of the node");
  for (const auto& limit : {limits.up_bit_s, limits.down_bit_s}) {
    if (limit && *limit / std::max<std::size_t>(devices, 1) < kLeastRate)
      return fail(Error::kUsage, "--limit-up, --limit-down: expected at least 1M for each --device of the node");
  }
  return Done{};
}

}  // namespace shoal
