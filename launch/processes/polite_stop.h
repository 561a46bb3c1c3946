// The first signal of stop_signals.h is a wish, the second the end at once: for processes without actors.
// A step in progress is finished and saved; a second signal loses only that step.
#pragma once

#include <optional>

namespace shoal {

// From here on signals are noted; a second one that presses ends the process at once with 130 (SIGINT) or 143.
void watch_for_stop();

// The exit status that the first signal asks for once everything is saved: 130 after SIGINT, else 75.
[[nodiscard]] std::optional<int> stop_status();

}  // namespace shoal
