// Reads what trace_event() (trace_words.h) wrote of an event of the run: "process_lost node2:1". Apart from it, because
// reports know no letters.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "messages/values/run_events.h"

namespace shoal {

struct TracedRunEvent {
  RunEventKind kind{};
  std::string_view subject;  // part of the text that was read; empty where it has none
};

// Returns nothing for the text of another kind of event.
[[nodiscard]] inline std::optional<TracedRunEvent> run_event_of(std::string_view detail) {
  const std::size_t end = std::min(detail.find(' '), detail.size());
  const auto kind = run_event_kind(detail.substr(0, end));
  if (!kind) return std::nullopt;
  return TracedRunEvent{*kind, detail.substr(std::min(end + 1, detail.size()))};
}

}  // namespace shoal
