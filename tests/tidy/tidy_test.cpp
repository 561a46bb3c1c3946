// Holds the repository to the house style: every rule over every file, one test per rule, all findings at once.
// The tests of rules and figures show that each of them can fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/tidy/figures.h"
#include "tests/tidy/folders/folder_rules.h"
#include "tests/tidy/repository.h"
#include "tests/tidy/rules.h"

namespace shoal::tidy::tidy_test {
namespace {

const std::filesystem::path kRoot = SHOAL_SOURCE_DIR;

const std::vector<std::string>& files() {
  static const std::vector<std::string> kFiles = house_files(kRoot);
  return kFiles;
}

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> kSources = house_sources(kRoot);
  return kSources;
}

void expect_none(const Findings& findings) {
  for (const Finding& finding : findings) {
    ADD_FAILURE() << finding.path << ":" << finding.line << ": " << finding.what;
  }
}

void expect_everywhere(const std::function<Findings(const SourceFile&)>& rule) {
  for (const SourceFile& source : sources()) expect_none(rule(source));
}

bool exists(const std::string& path) { return std::ranges::binary_search(files(), path); }

std::string sibling(const std::string& path, const std::string& extension) {
  return path.substr(0, path.rfind('.')) + extension;
}

// The nearest folder above `path` that has a CMakeLists.txt.
std::string listing_folder(const std::string& path) {
  std::string folder = folder_of(path);
  while (!folder.empty() && !exists(folder + "/CMakeLists.txt")) folder = folder_of(folder);
  return folder;
}

TEST(Tidy, FindsTheHouse) { ASSERT_GT(sources().size(), 20U) << "nothing to check under " << kRoot; }

TEST(Tidy, FilesAreShort) { expect_everywhere(check_file_length); }

TEST(Tidy, FunctionsAreShortAndTakeFewParameters) { expect_everywhere(check_functions); }

TEST(Tidy, HandlersOnlyCallTheCore) { expect_everywhere(check_handlers); }

TEST(Tidy, ActorStatesAreSmall) { expect_everywhere(check_state_fields); }

TEST(Tidy, ConversationsAreSmall) { expect_everywhere(check_message_count); }

TEST(Tidy, LinesFitAScreen) {
  expect_everywhere(check_line_lengths);
  for (const std::string& path : files()) {
    const bool is_script = read_text(kRoot / path).starts_with("#!");
    const bool is_build_text = path.ends_with(".cmake") || path.ends_with("CMakeLists.txt");
    if (is_script || is_build_text || path.ends_with(".capnp")) {
      expect_none(check_line_lengths(make_source(path, read_text(kRoot / path))));
    }
  }
}

TEST(Tidy, ArrowsBetweenFoldersPointOneWay) { expect_everywhere(check_arrows); }

TEST(Tidy, FilesSayWhatTheyAre) { expect_everywhere(check_opening); }

TEST(Tidy, NobodyUsesForbiddenWords) { expect_everywhere(check_forbidden_words); }

TEST(Tidy, SourcesIncludeTheirOwnHeaderFirst) {
  for (const SourceFile& source : sources()) {
    const bool is_source = source.path.ends_with(".cpp") || source.path.ends_with(".cu");
    if (is_source && exists(sibling(source.path, ".h"))) expect_none(check_own_header_first(source));
  }
}

TEST(Tidy, TestsHaveNamespacesOfTheirOwn) {
  for (const SourceFile& source : sources()) {
    if (source.path.ends_with("_test.cpp")) expect_none(check_own_namespace(source));
  }
}

// Together with the rule of own headers: a header either opens the source of its name, or CMake compiles it alone.
TEST(Tidy, HeadersWithoutASourceAreCompiledAlone) {
  const std::string list = read_text(SHOAL_COMPILED_HEADERS);
  std::set<std::string> compiled;
  for (const std::string_view line : lines_of(list)) compiled.emplace(line);
  for (const SourceFile& source : sources()) {
    if (!source.path.ends_with(".h") || exists(sibling(source.path, ".cpp"))) continue;
    EXPECT_TRUE(compiled.contains(source.path)) << source.path << " is new to CMake: configure again (cmake build)";
  }
}

TEST(Tidy, EverySourceIsListedInCMake) {
  for (const std::string& path : files()) {
    if (!path.ends_with(".cpp") && !path.ends_with(".cu") && !path.ends_with(".capnp")) continue;
    const std::string folder = listing_folder(path);
    ASSERT_FALSE(folder.empty()) << path;
    expect_none(check_listed(path, path.substr(folder.size() + 1), read_text(kRoot / folder / "CMakeLists.txt")));
  }
}

// Returns the names of the files of each folder, without those of its subfolders.
std::map<std::string, std::vector<std::string>> folders() {
  std::map<std::string, std::vector<std::string>> names;
  for (const std::string& path : files()) names[folder_of(path)].push_back(name_of(path));
  return names;
}

TEST(Tidy, FoldersAreSmall) {
  for (const auto& [folder, names] : folders()) expect_none(check_folder_size(folder, names));
}

TEST(Tidy, FoldersSayWhatIsInThem) {
  for (const auto& [folder, names] : folders()) expect_none(check_has_readme(folder, names));
}

TEST(Tidy, ReadmesNameEverySource) {
  const auto readme_of = [](const std::string& folder) {
    return exists(folder + "/README.md") ? read_text(kRoot / folder / "README.md") : "";
  };
  for (const auto& [folder, names] : folders()) {
    expect_none(check_all_named(folder, names, readme_of(folder) + readme_of(folder_of(folder))));
  }
}

TEST(Tidy, TestsMirrorTheTree) {
  for (const std::string& path : files()) expect_none(check_mirror(path, files()));
}

TEST(Tidy, NamedFilesAreThere) {
  for (const std::string& path : files()) {
    const bool has_words = path.ends_with(".md") || is_source_name(path);
    if (has_words) expect_none(check_named_files(path, read_text(kRoot / path), files()));
  }
}

TEST(Tidy, CommentsBeginWithAVerbOrAName) { expect_none(check_comment_begins(sources())); }

TEST(Tidy, ReadmesAreShort) {
  expect_none(check_readme_length("README.md", read_text(kRoot / "README.md")));
  for (const std::string& path : files()) {
    if (name_of(path) == "README.md") expect_none(check_readme_length(path, read_text(kRoot / path)));
  }
}

}  // namespace
}  // namespace shoal::tidy::tidy_test
