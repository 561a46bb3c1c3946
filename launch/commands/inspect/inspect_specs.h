// Declares options and help of the commands that look at a trace or at this machine (launch/interface.h).
// Each gives one line of the table of commands.
#pragma once

#include "launch/options.h"

namespace shoal {

[[nodiscard]] CommandSpec trace_export();
[[nodiscard]] CommandSpec trace_why();
[[nodiscard]] CommandSpec trace_check();
[[nodiscard]] CommandSpec trace_summary();
[[nodiscard]] CommandSpec doctor();
[[nodiscard]] CommandSpec version();

}  // namespace shoal
