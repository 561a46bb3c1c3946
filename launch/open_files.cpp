// See open_files.h.
#include "launch/open_files.h"

#include <sys/resource.h>

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal {

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kOpenFilesWanted);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // granted up to rlim_max; refused, all stays as it was
}

std::uint64_t open_files_allowed() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

Status check_open_files(std::uint64_t allowed) {
  if (allowed >= kOpenFilesLeast) return Done{};
  return fail(Error::kUsage, compose("only ", allowed, " files may be open at once here, and a run needs ",
                                     kOpenFilesLeast, " at least; raise the limit: ulimit -n 1024"));
}

}  // namespace shoal
