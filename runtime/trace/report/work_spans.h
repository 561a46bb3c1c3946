// Pieces of work and letters, joined from their two ends.
//
// Work of one track (an actor in one incarnation, in one life of its process) is nested or disjoint, never overlapping:
// a piece that was cut off, because its actor or its process died in it, ends where the piece around it ends, or with
// the life.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

struct WorkSpan {
  std::uint32_t life = 0;
  std::uint32_t actor = 0;
  Incarnation incarnation;
  std::string word;  // "forward", "apply", ...
  Cause cause;
  std::uint64_t span = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t depth = 0;  // spans around it
  bool is_cut = false;
};

// Ascending by begin.
[[nodiscard]] std::vector<WorkSpan> work_spans(const RunTrace& trace);

// A letter between two processes: indices in RunTrace::events.
struct TracedLetter {
  std::size_t sent = 0;
  std::optional<std::size_t> arrived;  // taken, or dropped by its receiver; absent: it never came
};

// Ascending by sending. Letters whose sending is in no trace are left out.
[[nodiscard]] std::vector<TracedLetter> letters_of(const RunTrace& trace);

// Links the piece of work that sent a letter to the piece that the letter was for.
struct WorkLink {
  std::size_t from = 0;  // indices in the list of spans
  std::size_t to = 0;
};
[[nodiscard]] std::vector<WorkLink> work_links(const RunTrace& trace, const std::vector<WorkSpan>& spans);

}  // namespace shoal
