// Gates of the house style for folders; a change here is a change of the style.
#include "tests/tidy/folders/folder_rules.h"

#include <algorithm>
#include <set>

#include "tests/tidy/repository.h"

namespace shoal::tidy {
namespace {

constexpr std::size_t kPairsMax = 16;
constexpr std::size_t kReadmeLinesMax = 40;
constexpr std::size_t kFirstPageLinesMax = 180;  // README.md of the root, which is read in five minutes

std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

bool is_of_tests(const std::string& path) { return path == "tests" || path.starts_with("tests/"); }

}  // namespace

Findings check_listed(const std::string& path, const std::string& name_there, std::string_view cmake_text) {
  const auto is_name_character = [](char c) { return is_word_character(c) || c == '/' || c == '.' || c == '-'; };
  std::size_t at = cmake_text.find(name_there);
  for (; at != std::string_view::npos; at = cmake_text.find(name_there, at + 1)) {
    const std::size_t end = at + name_there.size();
    const bool starts = at == 0 || !is_name_character(cmake_text[at - 1]);
    if (starts && (end == cmake_text.size() || !is_name_character(cmake_text[end]))) return {};
  }
  return {{path, 0, "is not listed as " + name_there + " in the nearest CMakeLists.txt"}};
}

Findings check_folder_size(const std::string& folder, const std::vector<std::string>& names) {
  std::set<std::string> stems;
  for (const std::string& name : names) {
    if (name.ends_with(".h") || name.ends_with(".cpp")) stems.insert(stem_of(name));
  }
  Findings findings;
  add_if_over(findings, {folder, 0, "file pairs in folder"}, stems.size(), kPairsMax);
  return findings;
}

Findings check_named_files(const std::string& path, std::string_view text, const std::vector<std::string>& files) {
  const auto is_there = [&files](const std::string& name) {
    return std::any_of(files.begin(), files.end(),
                       [&](const std::string& file) { return file == name || file.ends_with("/" + name); });
  };
  const auto is_name_character = [](char c) { return is_word_character(c) || c == '/' || c == '.' || c == '-'; };
  Findings findings;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (!path.ends_with(".md") && !trimmed(line).starts_with("//")) continue;
    for (auto begin = line.begin(); begin != line.end();) {
      begin = std::find_if(begin, line.end(), is_word_character);
      const auto end = std::find_if_not(begin, line.end(), is_name_character);
      std::string name(begin, end);
      begin = end;
      while (name.ends_with('.')) name.pop_back();
      if (is_source_name(name) && !is_there(name)) {
        findings.push_back({path, number, "names " + name + ", and there is no such file"});
      }
    }
  }
  return findings;
}

Findings check_has_readme(const std::string& folder, const std::vector<std::string>& names) {
  const std::string top = folder.substr(0, folder.find('/'));
  const bool has_to = top != "tests" && top != "cmake";
  if (!has_to || std::ranges::find(names, "README.md") != names.end()) return {};
  return {{folder, 0, "has no README.md: write what is in it and where to add what, in 3 to 40 lines"}};
}

Findings check_readme_length(const std::string& path, std::string_view text) {
  const std::size_t most = path == "README.md" ? kFirstPageLinesMax : kReadmeLinesMax;
  Findings findings;
  add_if_over(findings, {path, 0, "lines of a README"}, lines_of(text).size(), most);
  return findings;
}

Findings check_all_named(const std::string& folder, const std::vector<std::string>& names, std::string_view map) {
  if (is_of_tests(folder)) return {};
  std::set<std::string> stems;
  for (const std::string& name : names) {
    if (is_source_name(name)) stems.insert(stem_of(name));
  }
  Findings findings;
  for (const std::string& stem : stems) {
    if (find_word(map, stem).empty()) {
      findings.push_back({folder + "/README.md", 0, "says nothing of " + stem + ": name it, with what it does"});
    }
  }
  return findings;
}

Findings check_mirror(const std::string& test, const std::vector<std::string>& files) {
  const std::string ending = "_test.cpp";
  if (!is_of_tests(test) || !test.ends_with(ending)) return {};
  const std::string name = name_of(test);
  const std::string tested = name.substr(0, name.size() - ending.size());
  std::set<std::string> homes;
  for (const std::string& file : files) {
    const bool is_tested = is_source_name(file) && !is_of_tests(file) && stem_of(name_of(file)) == tested;
    if (is_tested) homes.insert("tests/" + folder_of(file));
  }
  const bool is_above = homes.size() == 1 && homes.begin()->starts_with(folder_of(test) + "/");
  if (!is_above) return {};
  return {{test, 0, "tests mirror the tree: this one belongs into " + *homes.begin()}};
}

}  // namespace shoal::tidy
