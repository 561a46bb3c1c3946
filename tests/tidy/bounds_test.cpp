// The rule of bounds over the repository, and that it can fail.
#include "tests/tidy/bounds.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/bounds/bounds_list.h"
#include "tests/tidy/repository.h"

namespace shoal::tidy::bounds_test {
namespace {

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> kSources = house_sources(std::filesystem::path(SHOAL_SOURCE_DIR));
  return kSources;
}

KnownBounds listed() {
  KnownBounds known;
  for (const ListedBound& one : kBoundsList) known.names.emplace(one.name);
  for (const ListedNumber& one : kNumbersList) known.numbers.emplace(one.place);
  return known;
}

std::set<std::string> all_of(std::set<std::string> (*find)(const SourceFile&), bool of_tests) {
  std::set<std::string> all;
  for (const SourceFile& source : sources()) {
    if (source.path.starts_with("tests/") == of_tests) all.merge(find(source));
  }
  return all;
}

TEST(Tidy, BoundsAreInTheList) {
  for (const SourceFile& source : sources()) {
    for (const Finding& finding : check_bounds(source, listed())) ADD_FAILURE() << finding.path << ": " << finding.what;
  }
}

TEST(Tidy, TheListOfBoundsNamesOnlyWhatIsThere) {
  const std::set<std::string> bounds = all_of(bounds_in, false);
  const std::set<std::string> numbers = all_of(numbers_in, false);
  for (const ListedBound& one : kBoundsList) EXPECT_TRUE(bounds.contains(std::string(one.name))) << one.name;
  for (const ListedNumber& one : kNumbersList) EXPECT_TRUE(numbers.contains(std::string(one.place))) << one.place;
}

TEST(Tidy, EveryBoundIsDrawnOrHasATest) {
  const std::set<std::string> tests = all_of(tests_in, true);
  for (const ListedBound& one : kBoundsList) {
    const bool has_test = tests.contains(std::string(one.test));
    EXPECT_TRUE(one.is_drawn() || has_test || !one.why_none.empty()) << one.name << ": no test " << one.test;
    EXPECT_LE(one.least, one.most) << one.name;
  }
  for (const ListedNumber& one : kNumbersList) {
    EXPECT_TRUE(!one.why_none.empty() || tests.contains(std::string(one.test))) << one.place << ": no " << one.test;
  }
}

TEST(BoundsRule, FindsWhatIsNotInTheList) {
  const auto find = [](const char* path, const char* text) {
    return check_bounds(make_source(path, text), {{"a.b"}, {"runtime/sync/x.h:kCountMax"}}).size();
  };
  EXPECT_EQ(find("runtime/sync/x.h", "inline const Bound kOne{\"a.b\", 3};"), 0U);
  EXPECT_EQ(find("runtime/sync/x.h", "inline const Bound kOne{\"a.c\", 3};"), 1U);
  EXPECT_EQ(find("runtime/sync/x.h", "static constexpr std::size_t kCountMax = 3;"), 0U);
  EXPECT_EQ(find("runtime/sync/y.h", "static constexpr std::size_t kCountMax = 3;"), 1U);
  EXPECT_EQ(find("runtime/sync/x.h", "  std::size_t bytes_max = 64u << 10;"), 1U);
  EXPECT_EQ(find("runtime/sync/x.h", "  std::size_t bytes_max = kBytesMax;"), 0U) << "the constant is the bound";
  EXPECT_EQ(find("runtime/sync/x.h", "  std::size_t fill_max = 0;"), 0U) << "a figure, not a bound";
  EXPECT_EQ(find("runtime/sync/x.h", "static constexpr Duration kWaitMax = 3s;"), 0U) << "a time";
  EXPECT_EQ(find("launch/x.h", "static constexpr std::size_t kCountMax = 3;"), 0U) << "another folder";
}

TEST(BoundsRule, FindsTests) {
  const SourceFile source = make_source("tests/x.cpp", "TEST(Suite, Name) {}\nTEST_P(Other, One) {}");
  EXPECT_EQ(tests_in(source), (std::set<std::string>{"Suite.Name", "Other.One"}));
}

}  // namespace
}  // namespace shoal::tidy::bounds_test
