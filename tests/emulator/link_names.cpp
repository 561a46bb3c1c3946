// Reads what /proc says of a process.
#include "tests/emulator/link_names.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace shoal {
namespace {

std::string value_of(const std::vector<std::string>& words, const std::string& option) {
  const auto found = std::find(words.begin(), words.end(), option);
  return found == words.end() || found + 1 == words.end() ? std::string() : *(found + 1);
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string link_name(const std::vector<std::string>& command_line) {
  if (has(command_line, "internal-spawner")) return "spawner";
  if (has(command_line, "internal-storage")) return "storage";
  const std::string name = value_of(command_line, "--name");
  const bool is_worker = !command_line.empty() && command_line.front().ends_with("shoal-worker");
  if (!is_worker || name.empty()) return "operator";
  const std::string index = value_of(command_line, "--device-index");
  return index.empty() || index == "0" ? name : name + ":" + index;
}

std::string link_name_of(pid_t pid) {
  std::ostringstream text;  // unlike iterators, no exception when the process is gone
  text << std::ifstream("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary).rdbuf();
  const std::string all = text.str();
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return link_name(words);
}

}  // namespace shoal
