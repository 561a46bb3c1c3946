// Rules of folders: what is listed, what their READMEs say, how full they are, and where a test lies.
//
// Each rule is pure: names and texts in, findings out. tidy_test.cpp runs them over the repository.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace shoal::tidy {

// The file's name stands in `cmake_text`, the text of the nearest CMakeLists.txt above it, as `name_there`.
[[nodiscard]] Findings check_listed(const std::string& path, const std::string& name_there,
                                    std::string_view cmake_text);

// A folder's own file names (no subfolders): how many pairs of header and source.
[[nodiscard]] Findings check_folder_size(const std::string& folder, const std::vector<std::string>& names);

// A folder of sources (tests apart, which mirror the others) says what is in it: `names` has a README.md.
[[nodiscard]] Findings check_has_readme(const std::string& folder, const std::vector<std::string>& names);

[[nodiscard]] Findings check_readme_length(const std::string& path, std::string_view text);

// Headers and sources that a comment or a README names by path or by name: each is one of `files`.
[[nodiscard]] Findings check_named_files(const std::string& path, std::string_view text,
                                         const std::vector<std::string>& files);

// Every source of a folder stands by name in `map`, the text of its README and of the README above: so that a newcomer
// finds it without opening it. Tests are apart, which mirror the others.
[[nodiscard]] Findings check_all_named(const std::string& folder, const std::vector<std::string>& names,
                                       std::string_view map);

// A test lies where the tested file does, below tests/, or deeper: not above it. `files` are all of the house; a test
// that is called as no file, or as files of several folders, may lie anywhere.
[[nodiscard]] Findings check_mirror(const std::string& test, const std::vector<std::string>& files);

}  // namespace shoal::tidy
