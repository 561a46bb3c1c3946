// The kinds of events as words: for people and for exports.
#include "runtime/trace/event.h"

#include <iterator>

namespace shoal {

std::string_view text_of(TraceKind kind) {
  static constexpr std::string_view kTexts[] = {"receive", "start",     "end",    "send",  "accumulate",   "drop",
                                                "restart", "view",      "commit", "fault", "spawn",        "exit",
                                                "phase",   "roll-back", "path",   "plan",  "stage commit", "manifest",
                                                "digest",  "clock",     "mark",   "link",  "note"};
  static_assert(std::size(kTexts) == static_cast<std::size_t>(kTraceKindLast) + 1);
  return kind <= kTraceKindLast ? kTexts[static_cast<std::size_t>(kind)] : "?";
}

}  // namespace shoal
