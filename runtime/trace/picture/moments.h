// Moments of a run in a window, as sentences: deaths, views, restarts, the first commit after each fault. They are
// numbered on the picture and told below it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/trace/picture/scene.h"
#include "runtime/trace/report/traced_journal.h"

namespace shoal {

// Returns the moments in time order; at most a dozen: the first ones.
[[nodiscard]] std::vector<SceneMoment> moments_of(const RunTrace& trace, const TracedJournal& journal,
                                                  std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace shoal
