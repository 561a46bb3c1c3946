// The lock is on the folder itself, so that no file in it has a meaning of its own.
#include "runtime/base/machine/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScratch = "scratch-";
constexpr std::string_view kUnlockedPrefix = "new-";
constexpr std::size_t kDrawn = 6;          // letters and digits of mkdtemp()
constexpr std::time_t kYoungSeconds = 60;  // whoever made it may be about to lock it

// Locks a folder of this user that is at least so many seconds old; -1: not this user's, younger, or in use.
[[nodiscard]] int lock_if_left(const fs::path& folder, std::time_t least_age) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat status {};
  const bool is_left = ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() &&
                       std::time(nullptr) - status.st_mtime >= least_age && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (is_left) return descriptor;
  ::close(descriptor);
  return -1;
}

enum class FolderName { kStrange, kUnlocked, kLocked };

FolderName name_kind(std::string_view name, std::string_view prefix) {
  const auto take = [&name](std::string_view part) {
    const bool is_there = name.starts_with(part);
    if (is_there) name.remove_prefix(part.size());
    return is_there;
  };
  if (!take(prefix) || !take(kScratch)) return FolderName::kStrange;
  const bool is_unlocked = take(kUnlockedPrefix);
  const bool is_drawn =
      name.size() == kDrawn && std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c); });
  if (!is_drawn) return FolderName::kStrange;
  return is_unlocked ? FolderName::kUnlocked : FolderName::kLocked;
}

Failure cannot_make(const std::string& pattern) {
  return fail(Error::kIo, compose("cannot make a folder ", pattern, ": ", std::strerror(errno)));
}

}  // namespace

Result<ScratchFolder> ScratchFolder::make(const fs::path& parent, const std::string& prefix) {
  (void)remove_left_folders(parent, prefix);
  std::error_code error;
  const fs::path here = fs::absolute(parent, error);
  std::string unlocked = (here / compose(prefix, kScratch, kUnlockedPrefix, std::string(kDrawn, 'X'))).string();
  if (::mkdtemp(unlocked.data()) == nullptr) return cannot_make(unlocked);
  // A folder without a lock is never removed, which is right where the file system has no locks.
  const int lock = ::open(unlocked.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock >= 0) (void)::flock(lock, LOCK_EX | LOCK_NB);
  ScratchFolder made(unlocked, lock);
  const std::string place = (here / compose(prefix, kScratch, unlocked.substr(unlocked.size() - kDrawn))).string();
  if (::rename(unlocked.c_str(), place.c_str()) != 0) return cannot_make(place);
  made.path_ = place;
  return made;
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, fs::path())), lock_(std::exchange(other.lock_, -1)) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

Result<fs::path> temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  if (named == nullptr || *named == '\0') return fs::path("/tmp");
  std::error_code error;
  if (fs::is_directory(named, error)) return fs::path(named);
  return fail(Error::kIo, compose("TMPDIR=", named, " is no folder", error ? ": " + error.message() : std::string()));
}

int remove_left_folders(const fs::path& parent, const std::string& prefix) {
  int removed = 0;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const FolderName kind = name_kind(at->path().filename().string(), prefix);
    if (kind == FolderName::kStrange) continue;
    const int lock = lock_if_left(at->path(), kind == FolderName::kUnlocked ? kYoungSeconds : 0);
    if (lock < 0) continue;
    std::error_code refused;
    fs::remove_all(at->path(), refused);
    removed += refused ? 0 : 1;
    ::close(lock);
  }
  return removed;
}

}  // namespace shoal
