// Reads files of the kernel's. A control group without a limit says "max", which is no number; pages of files that
// nobody has read for a while count as used there, and are given back at once when they are wanted.
#include "runtime/base/machine/available_memory.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace shoal {
namespace {

namespace fs = std::filesystem;

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

// Names the files in which a version of control groups has its figures.
struct GroupFiles {
  const char *limit, *used, *given_back;
};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};

// Answers a question about a group. Nothing: it has no limit.
using OfGroup = std::optional<std::uint64_t> (*)(const fs::path& group, const GroupFiles& files);

std::optional<std::uint64_t> limit_in(const fs::path& group, const GroupFiles& files) {
  return number_in(group / files.limit);
}

std::optional<std::uint64_t> left_in(const fs::path& group, const GroupFiles& files) {
  const auto limit = number_in(group / files.limit);
  if (!limit) return std::nullopt;
  const std::uint64_t used = number_in(group / files.used).value_or(0);
  const std::uint64_t given_back = named_in(group / "memory.stat", files.given_back).value_or(0);
  return *limit - std::min(*limit, used - std::min(used, given_back));
}

std::optional<std::uint64_t> least(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// The least of the group and of those around it. In a container the path may be the host's: what is not there is passed
// over, and the root is the container's.
std::optional<std::uint64_t> least_up_from(const fs::path& root, const fs::path& own, const GroupFiles& files,
                                           OfGroup asked) {
  std::optional<std::uint64_t> found = asked(root, files);
  fs::path group = root;
  for (const fs::path& part : own.relative_path()) {
    if (part == "..") return found;  // a group beside the root that this process sees
    group /= part;
    found = least(found, asked(group, files));
  }
  return found;
}

bool names_memory(std::string_view controllers) {
  return (',' + std::string(controllers) + ',').find(",memory,") != std::string::npos;
}

// Reads lines of "number:controllers:path"; version 2 has one without controllers.
std::optional<std::uint64_t> least_of_groups(const MemoryFiles& files, OfGroup asked) {
  std::optional<std::uint64_t> found = asked(files.groups, kVersion2);
  std::ifstream own(files.own_group);
  for (std::string line; std::getline(own, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) found = least(found, least_up_from(files.groups, path, kVersion2, asked));
    if (names_memory(controllers)) {
      found = least(found, least_up_from(fs::path(files.groups) / "memory", path, kVersion1, asked));
    }
  }
  return found;
}

// The system's figure of this name, within the groups.
std::optional<std::uint64_t> memory_named(const std::string& name, const MemoryFiles& files, OfGroup asked) {
  auto of_system = named_in(files.meminfo, name);
  if (of_system) *of_system *= 1024;
  return least(of_system, least_of_groups(files, asked));
}

}  // namespace

std::optional<std::uint64_t> whole_memory(const MemoryFiles& files) {
  return memory_named("MemTotal:", files, limit_in);
}

std::optional<std::uint64_t> available_memory(const MemoryFiles& files) {
  return memory_named("MemAvailable:", files, left_in);
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
