// Reads files of the kernel's. A control group without a limit says "max", which is no number; pages of files that
// nobody has read for a while count as used there, and are given back at once when they are wanted.
#include "runtime/base/machine/available_memory.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

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

struct Group {
  fs::path folder;
  const GroupFiles* files;
};

// Answers a question about a group. Nothing: it has no limit.
using OfGroup = std::optional<std::uint64_t> (*)(const Group& group);

std::optional<std::uint64_t> limit_in(const Group& group) { return number_in(group.folder / group.files->limit); }

std::optional<std::uint64_t> left_in(const Group& group) {
  const auto limit = limit_in(group);
  if (!limit) return std::nullopt;
  const std::uint64_t used = number_in(group.folder / group.files->used).value_or(0);
  const std::uint64_t given_back = named_in(group.folder / "memory.stat", group.files->given_back).value_or(0);
  return *limit - std::min(*limit, used - std::min(used, given_back));
}

std::optional<std::uint64_t> least(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// Adds the group and those around it, the outermost first. In a container the path may be the host's: what is not there
// has no limit, and the root is the container's.
void add_down_to(const fs::path& root, const fs::path& own, const GroupFiles& files, std::vector<Group>& groups) {
  groups.push_back({root, &files});
  for (const fs::path& part : own.relative_path()) {
    if (part == "..") return;  // a group beside the root that this process sees
    groups.push_back({groups.back().folder / part, &files});
  }
}

bool names_memory(std::string_view controllers) {
  return (',' + std::string(controllers) + ',').find(",memory,") != std::string::npos;
}

// Reads lines of "number:controllers:path"; version 2 has one without controllers.
std::vector<Group> groups_around(const MemoryFiles& files) {
  std::vector<Group> groups;
  add_down_to(files.groups, {}, kVersion2, groups);
  std::ifstream own(files.own_group);
  for (std::string line; std::getline(own, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) add_down_to(files.groups, path, kVersion2, groups);
    if (names_memory(controllers)) add_down_to(fs::path(files.groups) / "memory", path, kVersion1, groups);
  }
  return groups;
}

// The system's figure of this name, within the groups.
std::optional<std::uint64_t> memory_named(const std::string& name, const MemoryFiles& files, OfGroup asked) {
  auto found = named_in(files.meminfo, name);
  if (found) *found *= 1024;
  for (const Group& group : groups_around(files)) found = least(found, asked(group));
  return found;
}

}  // namespace

std::optional<std::uint64_t> whole_memory(const MemoryFiles& files) {
  return memory_named("MemTotal:", files, limit_in);
}

std::optional<std::uint64_t> available_memory(const MemoryFiles& files) {
  return memory_named("MemAvailable:", files, left_in);
}

std::optional<std::string> bounding_group(const MemoryFiles& files) {
  const auto bytes = whole_memory(files);
  for (const Group& group : groups_around(files)) {
    const auto limit = limit_in(group);
    if (limit && limit == bytes) return group.folder.string();
  }
  return std::nullopt;
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
