// Counts how often a run told of something: lines of metrics.jsonl, so that a test of deaths sees what a
// person would.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "tests/support/process_records.h"

namespace shoal {

[[nodiscard]] inline std::size_t count_of(const RunRecords& records, const std::string& event) {
  return static_cast<std::size_t>(
      std::ranges::count_if(records.events, [&](const EventLine& line) { return line.event == event; }));
}

}  // namespace shoal
