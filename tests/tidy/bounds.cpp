// A few regular expressions: declarations have one form after clang-format.
#include "tests/tidy/bounds.h"

#include <algorithm>
#include <array>
#include <regex>

namespace shoal::tidy {
namespace {

constexpr std::array kFolders = {"runtime/cluster/", "runtime/pipeline/",  "runtime/sync/",
                                 "runtime/storage/", "runtime/transport/", "actors/"};

std::set<std::string> captures(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.insert((*at)[1].str());
  return found;
}

}  // namespace

std::set<std::string> bounds_in(const SourceFile& source) {
  static const std::regex kDeclared(R"re(\bBound k\w+\{"([^"]+)")re");
  return captures(source.text, kDeclared);
}

std::set<std::string> numbers_in(const SourceFile& source) {
  static const std::regex kConstant(
      R"(\bconstexpr (?:std::size_t|std::u?int\d+_t|int|unsigned|long) (k\w*(?:Max|Most))\b)");
  static const std::regex kField(R"(\b(?:std::size_t|std::u?int\d+_t|int|unsigned|long) (\w+_max) = [^0kR;])");
  std::set<std::string> names = captures(source.code, kConstant);
  names.merge(captures(source.code, kField));
  std::set<std::string> numbers;
  for (const std::string& name : names) numbers.insert(source.path + ":" + name);
  return numbers;
}

Findings check_bounds(const SourceFile& source, const KnownBounds& known) {
  Findings findings;
  const bool is_here =
      std::ranges::any_of(kFolders, [&](const char* folder) { return source.path.starts_with(folder); });
  if (!is_here) return findings;
  for (const std::string& name : bounds_in(source)) {
    if (known.names.contains(name)) continue;
    findings.push_back({source.path, 0, "bound " + name + ": name it in tests/support/bounds/bounds_list.h"});
  }
  for (const std::string& number : numbers_in(source)) {
    if (known.numbers.contains(number)) continue;
    findings.push_back({source.path, 0,
                        number + ": make it a Bound (runtime/base/bound.h), or name it in "
                                 "tests/support/bounds/bounds_list.h "
                                 "with the test that comes to it"});
  }
  return findings;
}

std::set<std::string> tests_in(const SourceFile& source) {
  static const std::regex kTest(R"(\bTEST(?:_[PF])?\((\w+, \w+)\))");
  std::set<std::string> tests;
  for (const std::string& pair : captures(source.code, kTest)) {
    tests.insert(pair.substr(0, pair.find(',')) + "." + pair.substr(pair.find(' ') + 1));
  }
  return tests;
}

}  // namespace shoal::tidy
