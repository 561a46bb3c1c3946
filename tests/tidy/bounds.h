// The rule of bounds: whatever is bounded is a Bound (runtime/base/bound.h) or a number that the list of bounds names
// (tests/support/bounds/bounds_list.h), and a test comes to it. Pure, as the other rules.
#pragma once

#include <set>
#include <string>

#include "tests/tidy/rules.h"

namespace shoal::tidy {

// Bounds in the list, as text.
struct KnownBounds {
  std::set<std::string> names;    // "journal.entries_kept"
  std::set<std::string> numbers;  // "runtime/transport/assembly.h:buffers_max"
};

// Bounds of this file, as the list would name them.
[[nodiscard]] std::set<std::string> bounds_in(const SourceFile& source);
// Constants k..Max of whole numbers and fields .._max with a number: bounds that are no Bound.
[[nodiscard]] std::set<std::string> numbers_in(const SourceFile& source);

// Checks the folders where what is bounded would else grow with a run, its peers or its size.
[[nodiscard]] Findings check_bounds(const SourceFile& source, const KnownBounds& known);

// "Suite.Name" of every TEST, TEST_P and TEST_F.
[[nodiscard]] std::set<std::string> tests_in(const SourceFile& source);

}  // namespace shoal::tidy
