// Holds a program that lists its sources file by file, as the fuzzers do, to all that its sources include: a header
// with a source of its name needs that source, and a linker is the first to say so where none is built by every day.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"
#include "tests/tidy/source_text.h"

namespace shoal::tidy {

// A program's list: `sources` by their paths from the root. `unneeded`: sources that are not linked though a header of
// theirs is included, because nothing of them is called.
struct LinkedSources {
  std::string cmake;  // the file of the list, for findings
  std::vector<std::string> sources;
  std::vector<std::string> unneeded;
};

// Null: there is no such file.
using FindSource = std::function<const SourceFile*(const std::string& path)>;

// The words of `set(NAME ...)` in a CMake file. Empty: there is none.
[[nodiscard]] std::vector<std::string> cmake_list(std::string_view cmake_text, const std::string& name);

// Each source that a header reached from the list belongs to stands in the list, or among those that are not needed;
// and those are reached, and not listed.
[[nodiscard]] Findings check_linked(const LinkedSources& linked, const FindSource& find);

}  // namespace shoal::tidy
