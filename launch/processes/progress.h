// What a person sees of a run: a legend once, a line every so many steps, evaluations and events; on stderr, so that
// stdout holds results alone.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/base/config.h"
#include "runtime/trace/metrics/metrics_core.h"

namespace shoal {

// A shower for the metrics actor or `train --single`; honours COLUMNS and whether stderr is a terminal.
[[nodiscard]] std::function<void(const MetricsOutput&)> make_progress(std::uint64_t steps_target, const Config& config);

}  // namespace shoal
