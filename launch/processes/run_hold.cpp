// A lock on the directory itself: it leaves no file behind, and lasts while files in it are replaced.
#include "launch/processes/run_hold.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {

Result<RunHold> RunHold::take(const RunDirectory& run) {
  std::error_code error;
  std::filesystem::create_directories(run.root, error);
  if (error) return fail(Error::kIo, compose("cannot make ", run.root.string(), ": ", error.message()));
  const int descriptor = ::open(run.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return fail(Error::kIo, compose("cannot open ", run.root.string(), ": ", std::strerror(errno)));
  RunHold hold(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return hold;
  return fail(Error::kUsage,
              compose("another command owns the run in ", run.root.string(), ": end it, or choose another directory"));
}

RunHold::~RunHold() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunHold::RunHold(RunHold&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunHold& RunHold::operator=(RunHold&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void RunHold::keep_across_exec() const { ::fcntl(descriptor_, F_SETFD, 0); }

}  // namespace shoal
