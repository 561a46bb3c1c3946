// A program's list of sources: what the rule finds, and what it lets pass; and the fuzzers' own list.
#include "tests/tidy/linking/linked_sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/tidy/repository.h"

namespace shoal::tidy::linked_sources_test {
namespace {

// A tree in memory: the program includes one header, which includes another; both have sources.
class LinkedSourcesRule : public ::testing::Test {
 protected:
  LinkedSourcesRule() {
    add("main.cpp", "#include \"x/a.h\"\n#include <vector>\n");
    add("x/a.h", "#include \"x/b.h\"\n#include \"x/lone.h\"\n");
    add("x/a.cpp", "#include \"x/a.h\"\n");
    add("x/b.h", "");
    add("x/b.cpp", "#include \"x/b.h\"\n");
    add("x/lone.h", "");
  }
  void add(const std::string& path, const std::string& text) { files.insert_or_assign(path, make_source(path, text)); }
  [[nodiscard]] Findings check(std::vector<std::string> sources, std::vector<std::string> unneeded = {}) const {
    return check_linked({"CMakeLists.txt", std::move(sources), std::move(unneeded)}, [this](const std::string& path) {
      const auto found = files.find(path);
      return found == files.end() ? nullptr : &found->second;
    });
  }

  std::map<std::string, SourceFile> files;
};

TEST_F(LinkedSourcesRule, AWholeListPasses) { EXPECT_TRUE(check({"main.cpp", "x/a.cpp", "x/b.cpp"}).empty()); }

TEST_F(LinkedSourcesRule, AMissingSourceIsFoundAlsoThroughAnotherHeader) {
  const auto findings = check({"main.cpp", "x/a.cpp"});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].what, "x/b.cpp is not listed, and x/a.h includes its header");
  EXPECT_EQ(check({"main.cpp"}).size(), 2U);
}

TEST_F(LinkedSourcesRule, AnExemptionIsNamedAndNeeded) {
  EXPECT_TRUE(check({"main.cpp", "x/a.cpp"}, {"x/b.cpp"}).empty());
  EXPECT_EQ(check({"main.cpp", "x/a.cpp", "x/b.cpp"}, {"x/b.cpp"}).size(), 1U) << "it is listed";
  EXPECT_EQ(check({"x/b.cpp"}, {"x/a.cpp"}).size(), 1U) << "nobody includes it";
}

TEST(CmakeList, IsReadWordByWord) {
  const std::string text = "set(OTHER z.cpp)\nset(TESTED\n  a.cpp\n  ../b.cpp)\n";
  EXPECT_EQ(cmake_list(text, "TESTED"), (std::vector<std::string>{"a.cpp", "../b.cpp"}));
  EXPECT_TRUE(cmake_list(text, "NOTHING").empty());
}

// The fuzzers are linked by tests/fuzz/run alone.
TEST(LinkedSources, OfTheFuzzersAreAllListed) {
  const std::filesystem::path root = SHOAL_SOURCE_DIR;
  const std::string cmake = read_text(root / "tests/fuzz/CMakeLists.txt");
  std::map<std::string, SourceFile> files;
  for (SourceFile& source : house_sources(root)) files.emplace(source.path, std::move(source));
  LinkedSources fuzzers{"tests/fuzz/CMakeLists.txt", cmake_list(cmake, "TESTED"), {"runtime/transport/links.cpp"}};
  ASSERT_GT(fuzzers.sources.size(), 20U);
  for (const std::string& harness : cmake_list(cmake, "HARNESSES")) {
    fuzzers.sources.push_back(std::filesystem::path("tests/fuzz/" + harness).lexically_normal().string());
  }
  for (const std::string& path : fuzzers.sources) EXPECT_TRUE(files.contains(path)) << path << " is no source";
  for (const Finding& finding : check_linked(fuzzers, [&](const std::string& path) {
         const auto found = files.find(path);
         return found == files.end() ? nullptr : &found->second;
       })) {
    ADD_FAILURE() << finding.path << ": " << finding.what;
  }
}

}  // namespace
}  // namespace shoal::tidy::linked_sources_test
