// Tells whether a process has crashed and the system still writes its memory to a file (core(5)).
//
// Such a process runs no more and ends when the file is whole: a large one takes minutes. Whoever kills it meanwhile
// cuts the file that would have said why.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace shoal {

// status: the text of /proc/PID/status (proc(5)).
[[nodiscard]] bool says_core_dumping(std::string_view status);
// False for a process that is not there, and where the system does not say (Linux before 4.15).
[[nodiscard]] bool is_dumping_core(pid_t pid);

}  // namespace shoal
