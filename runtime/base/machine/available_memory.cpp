// Reads files of the kernel's. A control group without a limit says "max", which is no number; pages of files that
// nobody has read for a while count as used there, and are given back at once when they are wanted.
#include "runtime/base/machine/available_memory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace shoal {
namespace {

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

// The number behind a name, of a file with a pair in each line.
std::optional<std::uint64_t> named_in(const std::string& path, const std::string& wanted) {
  std::ifstream file(path);
  std::string name;
  std::uint64_t value = 0;
  for (std::string line; file >> name >> value; std::getline(file, line)) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> available_memory(const MemoryFiles& files) {
  auto available = named_in(files.meminfo, "MemAvailable:");
  if (available) *available *= 1024;
  const auto limit = number_in(files.group + "/memory.max");
  if (!limit) return available;
  const std::uint64_t used = number_in(files.group + "/memory.current").value_or(0);
  const std::uint64_t given_back = named_in(files.group + "/memory.stat", "inactive_file").value_or(0);
  const std::uint64_t left = *limit - std::min(*limit, used - std::min(used, given_back));
  return available ? std::min(*available, left) : left;
}

std::optional<ProcessMemory> process_memory(const std::string& status) {
  constexpr std::uint64_t kKibibyte = 1024;
  std::ifstream file(status);
  std::optional<std::uint64_t> resident;
  std::optional<std::uint64_t> peak;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) resident = kKibibyte * std::strtoull(line.c_str() + 6, nullptr, 10);
    if (line.starts_with("VmHWM:")) peak = kKibibyte * std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  if (!resident || !peak) return std::nullopt;
  return ProcessMemory{*resident, std::max(*resident, *peak)};
}

}  // namespace shoal
