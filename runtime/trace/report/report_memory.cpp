// Counts events by their size in a file.
#include "runtime/trace/report/report_memory.h"

#include "runtime/base/compose.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/trace_blocks.h"

namespace shoal {

Status check_memory(std::uint64_t trace_bytes, std::uint64_t event_bytes, std::optional<std::uint64_t> available) {
  const std::uint64_t events = trace_bytes / kEventBytes;
  const std::uint64_t needed = events * event_bytes;
  if (!available || needed <= *available) return Done{};
  return fail(Error::kIo, compose("this takes about ", bytes_text(needed), " of memory for ", events,
                                  " events, and this machine has ", bytes_text(*available),
                                  " to give: nothing was read; copy the run directory to a machine with more"));
}

}  // namespace shoal
