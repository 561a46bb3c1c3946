// One microbatch's story: where it was sent, who computed what, what got lost, who accumulated it, which commit counted
// it, and what else happened to the run meanwhile.
#pragma once

#include <string>

#include "runtime/base/error.h"
#include "runtime/trace/report/story/story_events.h"

namespace shoal {

// "12/3". Errors: kUsage.
[[nodiscard]] Result<MicrobatchName> parse_microbatch(const std::string& text);

// Lines in time order, times relative to the beginning of the step; a step that was trained on several branches is told
// once for each. Errors: kUsage when the trace knows nothing of it.
[[nodiscard]] Result<std::string> tell_microbatch(const RunTrace& trace, MicrobatchName name);
// The same, in the memory of the events that it is told from, however long the run is. Errors: also those of the
// pieces.
[[nodiscard]] Result<std::string> tell_microbatch(const EventPieces& pieces, MicrobatchName name);

}  // namespace shoal
