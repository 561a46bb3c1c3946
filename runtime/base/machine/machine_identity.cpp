// A digest, because a boot number is nobody else's business. A group that is gone before its number is read leaves the
// machine unknown: without the group it would be another one.
#include "runtime/base/machine/machine_identity.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "runtime/base/compose.h"
#include "runtime/base/sha256.h"

namespace shoal {
namespace {

// Digits alone, in one case. Empty: it is no boot number, or one that stands for none.
std::string digits_of(std::string_view boot_id) {
  constexpr std::size_t kDigits = 32;
  std::string digits;
  for (const char one : boot_id) {
    const auto letter = static_cast<unsigned char>(one);
    if (std::isxdigit(letter) != 0) {
      digits += static_cast<char>(std::tolower(letter));
    } else if (one != '-' && std::isspace(letter) == 0) {
      return {};
    }
  }
  const bool is_drawn = digits.find_first_not_of('0') != std::string::npos;
  return digits.size() == kDigits && is_drawn ? digits : std::string();
}

}  // namespace

std::uint64_t machine_identity_of(std::string_view boot_id, std::optional<std::uint64_t> group) {
  constexpr std::size_t kDigits = 16;
  constexpr int kHex = 16;
  const std::string digits = digits_of(boot_id);
  if (digits.empty()) return 0;
  const std::string text = compose("shoal machine ", digits, " ", group ? compose(*group) : std::string("whole"));
  return std::max<std::uint64_t>(std::stoull(sha256_hex(text).substr(0, kDigits), nullptr, kHex), 1);
}

std::uint64_t machine_identity(const MachineFiles& files) {
  std::ifstream file(files.boot_id);
  std::string boot_id;
  std::getline(file, boot_id);
  const auto group = bounding_group(files.memory);
  if (!group) return machine_identity_of(boot_id, std::nullopt);
  struct stat found {};
  if (::stat(group->c_str(), &found) != 0) return 0;
  return machine_identity_of(boot_id, found.st_ino);
}

}  // namespace shoal
