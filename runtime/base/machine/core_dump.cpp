// Reads one line of /proc.
#include "runtime/base/machine/core_dump.h"

#include "runtime/base/compose.h"
#include "runtime/base/file.h"

namespace shoal {

bool says_core_dumping(std::string_view status) { return status.find("\nCoreDumping:\t1\n") != std::string_view::npos; }

bool is_dumping_core(pid_t pid) {
  const auto status = read_file(compose("/proc/", pid, "/status"));
  return status && says_core_dumping(*status);
}

}  // namespace shoal
