// Names are those of targets.h.
#include "runtime/cluster/operate/log_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace shoal {
namespace {

constexpr std::array<std::string_view, 4> kOfTheSpawner = {"supervisor", "metrics", "control", "data_loader"};

// A node's workers share a file: node2:1 writes into node2.
std::string file_of(std::string_view node) { return std::string(node.substr(0, node.find(':'))); }

}  // namespace

LogPlace log_place(std::string_view name, const std::vector<std::string>& nodes) {
  const std::size_t slash = name.find('/');
  const std::string_view kind = name.substr(0, slash);
  const bool is_own = std::find(kOfTheSpawner.begin(), kOfTheSpawner.end(), kind) != kOfTheSpawner.end();
  if (is_own || kind == "sync_group") return {{"spawner"}, std::string(name)};
  if (kind == "storage") return {{"storage"}, slash == std::string_view::npos ? "" : "storage"};
  if (slash == std::string_view::npos) return {{file_of(name)}, ""};
  if (kind == "stage") return {nodes, std::string(name)};
  return {{file_of(name.substr(slash + 1))}, std::string(kind)};
}

bool is_line_of(std::string_view line, std::string_view who) {
  for (std::size_t at = line.find(who); !who.empty() && at != std::string_view::npos; at = line.find(who, at + 1)) {
    const auto is_word = [&](std::size_t index) {
      return index < line.size() && (std::isalnum(static_cast<unsigned char>(line[index])) != 0 || line[index] == '_');
    };
    if ((at == 0 || !is_word(at - 1)) && !is_word(at + who.size())) return true;
  }
  return who.empty();
}

}  // namespace shoal
