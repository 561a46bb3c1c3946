// Memory that reports take: an export holds all events of a run's trace, those of a run of months too; a check, a
// summary and a story do not.
//
// A system that has no more of it ends some process, often without a word, and perhaps one of the run that is looked
// at: so a report asks before it reads. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/error.h"

namespace shoal {

// Bytes for each event, as measured (README.md), with what is not counted there.
inline constexpr std::uint64_t kReportEventBytes = 280;
inline constexpr std::uint64_t kExportEventBytes = 900;  // with the text of a JSON

// Bytes for a report on trace files of so many bytes, which takes so much for each event.
[[nodiscard]] std::uint64_t memory_of_report(std::uint64_t trace_bytes, std::uint64_t event_bytes);
// Bytes for `trace check` and `trace why`: what they hold at a time, and what is known of each piece of the trace.
[[nodiscard]] std::uint64_t memory_of_check(std::uint64_t trace_bytes);

// Bytes for `trace summary`: its windows, and what it keeps of each step (summary/README.md).
[[nodiscard]] std::uint64_t memory_of_summary(std::uint64_t trace_bytes);

// Says whether a report fits that takes so much. `available`: nothing where the system does not say. Errors: kIo, which
// says nothing of the run itself.
[[nodiscard]] Status check_memory(std::uint64_t trace_bytes, std::uint64_t needed_bytes,
                                  std::optional<std::uint64_t> available);

}  // namespace shoal
