// Asks for what a user may take, not for what the system keeps for root.
#include "runtime/base/machine/disk_space.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "runtime/base/compose.h"

namespace shoal {

Status check_space(const std::string& path, std::uint64_t wanted, std::uint64_t left) {
  const auto usable = usable_space(path, wanted, left);
  return usable ? Status(Done{}) : usable.failure();
}

Result<std::uint64_t> usable_space(const std::string& path, std::uint64_t wanted, std::uint64_t left) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(std::filesystem::path(path).parent_path(), error);
  const std::uint64_t usable = space.available - std::min<std::uint64_t>(space.available, left);
  const bool is_unknown = error || space.capacity == 0;  // file systems without an answer say 0
  if (is_unknown) return std::numeric_limits<std::uint64_t>::max();
  if (usable >= wanted) return usable;
  const std::string kept = left == 0 ? "" : compose(", and the journal needs ", left, " of them");
  return fail(Error::kIo, compose("cannot write ", path, ": no space for its ", wanted, " bytes: ", space.available,
                                  " are left", kept));
}

bool is_on_disk_of(const std::string& folder, const std::string& other) {
  struct stat one {};
  struct stat two {};
  const bool is_known = ::stat(folder.c_str(), &one) == 0 && ::stat(other.c_str(), &two) == 0;
  return !is_known || one.st_dev == two.st_dev;
}

}  // namespace shoal
