// Negative controls: each rule is shown a folder that breaks it, right beside one that keeps it.
#include "tests/tidy/folders/folder_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shoal::tidy::folder_rules_test {
namespace {

std::string lines(std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += "a\n";
  return all;
}

TEST(FolderRules, CatchUnlistedSources) {
  EXPECT_EQ(check_listed("model/a.cpp", "a.cpp", "shoal_library(model SOURCES a.cpp b.cpp)").size(), 0U);
  EXPECT_EQ(check_listed("model/a.cpp", "a.cpp", "shoal_library(model SOURCES aa.cpp commands/a.cpp)").size(), 1U);
}

TEST(FolderRules, CatchCrowdedFolders) {
  std::vector<std::string> names = {"CMakeLists.txt", "README.md"};
  for (int i = 0; i < 16; ++i) {
    names.push_back(std::to_string(i) + ".h");
    names.push_back(std::to_string(i) + ".cpp");
  }
  EXPECT_EQ(check_folder_size("model", names).size(), 0U);
  names.push_back("one_more.cpp");
  EXPECT_EQ(check_folder_size("model", names).size(), 1U);
}

TEST(FolderRules, CatchNamesOfFilesThatAreGone) {
  const std::vector<std::string> files = {"model/README.md", "model/partition.h", "runtime/sync/ring.cpp"};
  const auto count = [&](const std::string& path, const char* text) {
    return check_named_files(path, text, files).size();
  };
  EXPECT_EQ(count("model/README.md", "`model/partition.h`, `partition.h`, `sync/ring.cpp`: see ring.cpp.\n"), 0U);
  EXPECT_EQ(count("model/README.md", "`runtime/partition.h` and `rings.cpp`\n"), 2U);
  EXPECT_EQ(count("model/a.h", "// As gone.h says.\n#include \"system.h\"\n"), 1U);
  EXPECT_EQ(count("model/a.cu", "// As gone.cuh and gone.cu say.\n"), 2U);
}

TEST(FolderRules, CatchFoldersWithoutAReadme) {
  EXPECT_EQ(check_has_readme("runtime/sync", {"README.md", "ring.h"}).size(), 0U);
  EXPECT_EQ(check_has_readme("runtime/sync", {"ring.cpp", "ring.h"}).size(), 1U);
  EXPECT_EQ(check_has_readme("launch/configs", {"default.toml"}).size(), 1U);
  EXPECT_EQ(check_has_readme("tests/runtime/sync", {"ring_test.cpp"}).size(), 0U);
}

TEST(FolderRules, CatchLongReadmes) {
  EXPECT_EQ(check_readme_length("model/README.md", lines(40)).size(), 0U);
  EXPECT_EQ(check_readme_length("model/README.md", lines(41)).size(), 1U);
  EXPECT_EQ(check_readme_length("README.md", lines(180)).size(), 0U);
  EXPECT_EQ(check_readme_length("README.md", lines(181)).size(), 1U);
}

TEST(FolderRules, CatchSourcesThatNoReadmeNames) {
  const std::vector<std::string> names = {"CMakeLists.txt", "README.md", "ring.cpp", "ring.h", "pack.cuh"};
  EXPECT_EQ(check_all_named("runtime/sync", names, "`ring.h` rings, `pack` packs\n").size(), 0U);
  EXPECT_EQ(check_all_named("runtime/sync", names, "`ring.h` rings\n").size(), 1U);
  EXPECT_EQ(check_all_named("runtime/sync", names, "`ring_sums.h` adds, `pack` packs\n").size(), 1U);
  EXPECT_EQ(check_all_named("tests/runtime/sync", names, "").size(), 0U);
}

TEST(FolderRules, CatchTestsAboveWhatTheyTest) {
  const std::vector<std::string> files = {"actors/control.cpp", "runtime/sync/ring.cpp", "runtime/sync/wire/codec.h",
                                          "runtime/sync/wire/ring.h", "tests/runtime/sync/codec.h"};
  EXPECT_EQ(check_mirror("tests/runtime/sync/wire/codec_test.cpp", files).size(), 0U);
  EXPECT_EQ(check_mirror("tests/runtime/sync/codec_test.cpp", files).size(), 1U);
  EXPECT_EQ(check_mirror("tests/runtime/codec_test.cpp", files).size(), 1U);
  EXPECT_EQ(check_mirror("tests/runtime/sync/wire/bits/codec_test.cpp", files).size(), 0U);
  EXPECT_EQ(check_mirror("tests/runtime/ring_test.cpp", files).size(), 0U) << "two files have that name";
  EXPECT_EQ(check_mirror("tests/runtime/sync/rounds_test.cpp", files).size(), 0U) << "no file has that name";
  EXPECT_EQ(check_mirror("tests/system/control_test.cpp", files).size(), 0U) << "whole programs, not actors/control";
}

}  // namespace
}  // namespace shoal::tidy::folder_rules_test
