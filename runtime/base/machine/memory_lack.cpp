// Reads what the kernel allows the process, and what it has: the two figures that show a person which one is short.
#include "runtime/base/machine/memory_lack.h"

#include <sys/resource.h>

#include <fstream>
#include <string>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

// Reads a line "NAME:   123 kB" of a file of /proc, in MiB; 0 where there is none.
std::uint64_t mebibytes_of(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10) / 1024;
  }
  return 0;
}

}  // namespace

std::string memory_lack_text(const std::exception& problem) {
  const std::string_view words = problem.what();
  const std::string said = compose(kNoMoreMemory, " (", words.substr(0, words.find('\n')).substr(0, 200), "): ");
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    return compose(said, "the process has ", mebibytes_of("/proc/self/status", "VmSize"), " MiB of address space, and ",
                   space.rlim_cur >> 20U, " MiB are allowed (ulimit -v)");
  }
  return compose(said, "the process has ", mebibytes_of("/proc/self/status", "VmRSS"), " MiB, and ",
                 mebibytes_of("/proc/meminfo", "MemAvailable"), " MiB of the machine's are free");
}

}  // namespace shoal
