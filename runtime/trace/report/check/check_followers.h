// S-4, P-3: each replica follows every entry of the journal, in order.
//
// Keeps the last position that each replica followed.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/trace/report/check/findings.h"
#include "runtime/trace/report/pieces/event_window.h"

namespace shoal {

// Reads what replicas followed in the order of time, in windows, and appends what is wrong. Keeps a position for each
// replica that there ever was. Errors: those of the pieces.
[[nodiscard]] Status check_followers(const WindowedTrace& trace, CheckMemory& memory, std::vector<Violation>& out);

}  // namespace shoal
