// Asks the kernel for its boot identity.
#include "runtime/trace/machine.h"

#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace shoal {

std::uint64_t machine_number() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty()) return 0;
  std::error_code absent;
  const std::string clock = std::filesystem::read_symlink("/proc/self/ns/time", absent).string();
  const std::string text = boot + clock;
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace shoal
