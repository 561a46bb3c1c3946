// Counts events by their size in a file.
#include "runtime/trace/report/report_memory.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/trace_blocks.h"

namespace shoal {
namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{120} << 20U;  // as measured, whatever the length of a run
constexpr std::uint64_t kEventsToAByte = 8;                        // for what is known of pieces
// For that and for 73 bytes a step: one stage with one replica, where a step has the fewest events, makes 11 of them.
constexpr std::uint64_t kSummaryEventBytes = 10;

}  // namespace

std::uint64_t memory_of_report(std::uint64_t trace_bytes, std::uint64_t event_bytes) {
  return trace_bytes / kEventBytes * event_bytes;
}

std::uint64_t memory_of_check(std::uint64_t trace_bytes) {
  const std::uint64_t windows = kWindowBytes + trace_bytes / kEventBytes / kEventsToAByte;
  return std::min(windows, memory_of_report(trace_bytes, kReportEventBytes));
}

std::uint64_t memory_of_summary(std::uint64_t trace_bytes) {
  const std::uint64_t windows = kWindowBytes + trace_bytes / kEventBytes * kSummaryEventBytes;
  return std::min(windows, memory_of_report(trace_bytes, kReportEventBytes));
}

Status check_memory(std::uint64_t trace_bytes, std::uint64_t needed_bytes, std::optional<std::uint64_t> available) {
  if (!available || needed_bytes <= *available) return Done{};
  return fail(Error::kIo, compose("this takes about ", bytes_text(needed_bytes), " of memory for ",
                                  trace_bytes / kEventBytes, " events, and this machine has ", bytes_text(*available),
                                  " to give: nothing was read; copy the run directory to a machine with more"));
}

}  // namespace shoal
