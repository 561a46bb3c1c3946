// The summary of a run as a person reads it at its end; metrics.jsonl has the same figures as an object.
// Pure: the caller decides where to print the lines.
#pragma once

#include <string>
#include <vector>

#include "runtime/trace/metrics/step_record.h"

namespace shoal {

// Returns lines; for a run that was resumed, first those of this start and then those of the whole.
[[nodiscard]] std::vector<std::string> summary_lines(const SummaryRecord& record);

}  // namespace shoal
