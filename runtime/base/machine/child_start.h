// Starting a program so that it cannot outlive its starter: the kernel kills it when the thread that started it ends
// (PR_SET_PDEATHSIG), checked against a parent that ended before that was in force. fork and exec by hand: only between
// them can that be set.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

// arguments: the program first, searched in PATH unless it holds a '/'. environment: NAME=VALUE, all of it; empty:
// ours. prepare: signals, streams and folder of the child, in the child: only calls that are safe between fork and
// exec. False: errno says why it cannot be. Errors: kUsage where the system gives no process more, else
// kIo with the system's reason, also when it cannot be executed.
[[nodiscard]] Result<pid_t> start_program(const std::vector<std::string>& arguments,
                                          const std::vector<std::string>& environment,
                                          const std::function<bool()>& prepare);

}  // namespace shoal
