// /proc/PID/fd says which sockets a process has, /proc/PID/net/tcp which of all sockets listen.
#include "tests/support/guest/listening_ports.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace shoal::guest {

namespace fs = std::filesystem;

std::vector<std::uint16_t> listening_ports(pid_t process) {
  const fs::path folder = fs::path("/proc") / std::to_string(process);
  std::set<std::string> own;  // inodes
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "fd", error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:[")) own.insert(target.substr(8, target.size() - 9));
  }
  std::vector<std::uint16_t> ports;
  std::ifstream table(folder / "net" / "tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::vector<std::string> word;
    for (std::string one; words >> one;) word.push_back(one);
    if (word.size() < 10 || word[3] != "0A" || !own.contains(word[9])) continue;
    const std::string port = word[1].substr(word[1].find(':') + 1);
    ports.push_back(static_cast<std::uint16_t>(std::stoul(port, nullptr, 16)));
  }
  return ports;
}

std::uint64_t peak_memory_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::uint64_t kib = 0;
    status >> kib;
    return kib;
  }
  return 0;
}

}  // namespace shoal::guest
