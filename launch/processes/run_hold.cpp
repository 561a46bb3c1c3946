// A lock on the directory itself: it leaves no file behind, and lasts while files in it are replaced.
#include "launch/processes/run_hold.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

int open_directory(const RunDirectory& run) { return ::open(run.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

// Who only asks whether it is taken holds it for microseconds.
bool is_taken_by_another(int descriptor) {
  for (int tries = 0; tries < 5; ++tries) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

}  // namespace

Result<RunHold> RunHold::take(const RunDirectory& run) {
  std::error_code error;
  std::filesystem::create_directories(run.root, error);
  if (error) return fail(Error::kIo, compose("cannot make ", run.root.string(), ": ", error.message()));
  const int descriptor = open_directory(run);
  if (descriptor < 0) return fail(Error::kIo, compose("cannot open ", run.root.string(), ": ", std::strerror(errno)));
  RunHold hold(descriptor);
  if (!is_taken_by_another(descriptor)) return hold;
  return fail(Error::kUsage,
              compose("another command owns the run in ", run.root.string(), ": end it, or choose another directory"));
}

bool RunHold::is_taken(const RunDirectory& run) {
  const RunHold asking(open_directory(run));
  return asking.descriptor_ >= 0 && ::flock(asking.descriptor_, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
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
