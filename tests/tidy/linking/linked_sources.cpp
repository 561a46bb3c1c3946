// Follows includes from file to file, each once.
#include "tests/tidy/linking/linked_sources.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace shoal::tidy {
namespace {

// Every file that is reached, with the one that includes it.
std::map<std::string, std::string> reached_from(const std::vector<std::string>& sources, const FindSource& find) {
  std::map<std::string, std::string> reached;
  std::vector<std::string> to_read;
  for (const std::string& source : sources) {
    if (reached.emplace(source, std::string()).second) to_read.push_back(source);
  }
  while (!to_read.empty()) {
    const std::string path = to_read.back();
    to_read.pop_back();
    const SourceFile* source = find(path);
    if (source == nullptr) continue;
    for (const Include& include : includes_of(*source)) {
      if (!include.is_system && reached.emplace(include.target, path).second) to_read.push_back(include.target);
    }
  }
  return reached;
}

}  // namespace

std::vector<std::string> cmake_list(std::string_view cmake_text, const std::string& name) {
  const std::string opening = "set(" + name;
  const auto begin = cmake_text.find(opening);
  if (begin == std::string_view::npos) return {};
  const auto first = begin + opening.size();
  const std::string words(cmake_text.substr(first, cmake_text.find(')', first) - first));
  std::istringstream stream(words);
  std::vector<std::string> list;
  for (std::string word; stream >> word;) list.push_back(word);
  return list;
}

Findings check_linked(const LinkedSources& linked, const FindSource& find) {
  Findings findings;
  const std::set<std::string> listed(linked.sources.begin(), linked.sources.end());
  std::set<std::string> unneeded(linked.unneeded.begin(), linked.unneeded.end());
  for (const auto& [path, includer] : reached_from(linked.sources, find)) {
    if (!path.ends_with(".h")) continue;
    const std::string source = path.substr(0, path.size() - 2) + ".cpp";
    if (find(source) == nullptr || listed.contains(source) || unneeded.erase(source) > 0) continue;
    findings.push_back({linked.cmake, 0, source + " is not listed, and " + includer + " includes its header"});
  }
  for (const std::string& source : unneeded) {
    findings.push_back({linked.cmake, 0, source + " need not be named as unneeded: it is listed, or not included"});
  }
  return findings;
}

}  // namespace shoal::tidy
