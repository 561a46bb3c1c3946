// The lock is on the folder itself, so that no file in it has a meaning of its own.
#include "launch/commands/run/kept_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace shoal {
namespace {

constexpr const char* kPrefix = "shoal-node-";
constexpr std::time_t kYoungSeconds = 60;  // its keeper may be about to lock it

// Of a folder of this user that has been as it is for a while, locked; -1: another one's, a young one, or in use.
[[nodiscard]] int lock_if_left(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat status {};
  const bool is_left = ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() &&
                       std::time(nullptr) - status.st_mtime >= kYoungSeconds &&
                       ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (is_left) return descriptor;
  ::close(descriptor);
  return -1;
}

}  // namespace

KeptFolder::~KeptFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

Status KeptFolder::make(const std::filesystem::path& parent) {
  std::string pattern = (parent / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail(Error::kIo, "cannot make a folder " + pattern);
  path_ = pattern;
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) (void)::flock(lock_, LOCK_EX | LOCK_NB);  // where there are no locks, nobody removes what has none
  return Done{};
}

int remove_left_folders(const std::filesystem::path& parent) {
  int removed = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(kPrefix)) continue;
    const int lock = lock_if_left(at->path());
    if (lock < 0) continue;
    std::error_code refused;
    std::filesystem::remove_all(at->path(), refused);
    removed += refused ? 0 : 1;
    ::close(lock);
  }
  return removed;
}

}  // namespace shoal
