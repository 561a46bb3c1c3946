// Processes come and go while /proc is read: whatever cannot be read any more is left out.
#include "tests/support/process_tree.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "tests/support/process_program.h"

namespace shoal {
namespace {

// Entries end with a zero byte, and the first has none before it.
bool holds_entry(const std::string& environment, const std::string& marker) {
  const std::string entry = std::string(1, '\0') + marker + '\0';
  return (std::string(1, '\0') + environment).find(entry) != std::string::npos;
}

std::optional<ProcessEntry> read_process(const std::string& folder, const std::string& marker) {
  if (!holds_entry(read_all(folder + "/environ"), marker)) return std::nullopt;
  ProcessEntry entry;
  entry.pid = static_cast<pid_t>(std::stol(folder.substr(folder.rfind('/') + 1)));
  const std::string stat = read_all(folder + "/stat");  // "pid (name) state parent ..."; the name may hold anything
  const auto after_name = stat.rfind(')');
  if (after_name == std::string::npos || after_name + 4 > stat.size()) return std::nullopt;
  if (stat[after_name + 2] == 'Z' || stat[after_name + 2] == 'X') return std::nullopt;
  entry.parent = static_cast<pid_t>(std::stol(stat.substr(after_name + 4)));
  entry.command_line = read_all(folder + "/cmdline");
  std::ranges::replace(entry.command_line, '\0', ' ');
  return entry;
}

std::uint64_t signal_set(const std::string& status, std::string_view field) {
  const auto at = status.find(field);
  return at == std::string::npos ? 0 : std::stoull(status.substr(at + field.size()), nullptr, 16);
}

}  // namespace

std::vector<ProcessEntry> processes_marked(const std::string& marker) {
  std::vector<ProcessEntry> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string path = entry.path().string();
    if (std::isdigit(static_cast<unsigned char>(path[6])) == 0) continue;
    if (auto process = read_process(path, marker)) found.push_back(std::move(*process));
  }
  return found;
}

std::vector<ProcessEntry> named_like(const std::vector<ProcessEntry>& all, const std::string& text) {
  std::vector<ProcessEntry> found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const auto& process) { return process.command_line.find(text) != std::string::npos; });
  return found;
}

std::vector<ProcessEntry> descendants_of(const std::vector<ProcessEntry>& all, pid_t ancestor) {
  std::set<pid_t> family = {ancestor};
  std::vector<ProcessEntry> found;
  for (std::size_t before = 0; before != family.size();) {
    before = family.size();
    for (const auto& process : all) {
      if (!family.contains(process.parent) || !family.insert(process.pid).second) continue;
      found.push_back(process);
    }
  }
  return found;
}

bool is_signal_pending(pid_t pid, int signal) {
  const std::string status = read_all("/proc/" + std::to_string(pid) + "/status");
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(signal - 1);
  return ((signal_set(status, "SigPnd:") | signal_set(status, "ShdPnd:")) & bit) != 0;
}

bool is_signal_blocked(pid_t pid, int signal) {
  const std::string status = read_all("/proc/" + std::to_string(pid) + "/status");
  if ((signal_set(status, "SigBlk:") & (std::uint64_t{1} << static_cast<unsigned>(signal - 1))) != 0) return true;
  return read_all("/proc/" + std::to_string(pid) + "/syscall").starts_with(std::to_string(SYS_rt_sigtimedwait) + " ");
}

std::string describe(const std::vector<ProcessEntry>& processes) {
  std::string text;
  for (const auto& process : processes) {
    text += std::to_string(process.pid) + " (child of " + std::to_string(process.parent) +
            "): " + process.command_line + "\n";
  }
  return text;
}

}  // namespace shoal
