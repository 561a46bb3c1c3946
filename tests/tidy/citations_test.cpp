// The rule of citations over the repository, and that it can fail. Numbers of rules that do not exist are written in
// two pieces here, so that this file keeps the rule.
#include "tests/tidy/citations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "tests/tidy/repository.h"

namespace shoal::tidy::citations_test {
namespace {

const std::filesystem::path kRoot = SHOAL_SOURCE_DIR;

// Documents whose rules and numbered sections are cited.
constexpr std::array kLaws = {"runtime/DESIGN.md", "runtime/PROTOCOL.md", "runtime/GUARANTEES.md",
                              "runtime/transport/CAF.md"};

// Texts that cite, by their names' ends; others are data.
constexpr std::array kTexts = {".md", ".h", ".cpp", ".cuh", ".cu", ".capnp", ".patch", ".txt", ".cmake", ".toml"};

[[nodiscard]] std::vector<std::string> texts() {
  std::vector<std::string> paths;
  for (std::string& path : house_files(kRoot)) {
    const bool cites = std::ranges::any_of(kTexts, [&](const char* end) { return path.ends_with(end); });
    if (cites) paths.push_back(std::move(path));
  }
  paths.emplace_back("README.md");
  return paths;
}

[[nodiscard]] Law law_of_the_house() {
  Law law;
  for (const std::string& path : texts()) {
    if (path.ends_with(".md")) law.documents.insert(path);
  }
  for (const std::string path : kLaws) {
    const std::string document = read_text(kRoot / path);
    for (const std::string& rule : rules_stated_in(document)) law.rules.insert(rule);
    law.sections[name_of(path)] = sections_in(document);
  }
  return law;
}

void expect_none(const Findings& findings) {
  for (const Finding& finding : findings) {
    ADD_FAILURE() << finding.path << ":" << finding.line << ": " << finding.what;
  }
}

TEST(Tidy, WhatIsCitedIsThere) {
  const Law law = law_of_the_house();
  ASSERT_GT(law.rules.size(), 60U) << "the rules of PROTOCOL.md and DESIGN.md";
  for (const std::string& path : texts()) expect_none(check_citations(path, read_text(kRoot / path), law));
}

TEST(Tidy, LinksOfDocumentsLeadSomewhere) {
  std::vector<std::string> files = house_files(kRoot);
  files.emplace_back("README.md");
  for (const std::string& path : files) {
    if (path.ends_with(".md")) expect_none(check_links(path, read_text(kRoot / path), files));
  }
}

TEST(Tidy, EveryRuleIsCitedWhereItIsKept) {
  std::set<std::string> cited;
  for (const SourceFile& source : house_sources(kRoot)) {
    if (!source.path.starts_with("tests/")) cited.merge(rules_cited_in(source.text));
  }
  for (const std::string path : kLaws) {
    expect_none(check_rules_are_cited(path, rules_stated_in(read_text(kRoot / path)), cited));
  }
}

constexpr std::string_view kProtocol = "## 4. Groups\n\n* **P-17 Missing** goes on.\n* **P-17a Who re-sends.** All.\n";
constexpr std::string_view kDesign =
    "## 4. Once\n1. **One.** It.\n9. **Nine.**\n\n## 10. Invariants\n| S-3 | digests are equal |\n";

[[nodiscard]] Law small_law() {
  return {{"P-17", "P-17a", "S-3"},
          {{"DESIGN.md", sections_in(kDesign)}, {"PROTOCOL.md", sections_in(kProtocol)}},
          {"README.md", "runtime/DESIGN.md", "runtime/PROTOCOL.md"}};
}

[[nodiscard]] std::size_t count(const char* path, const std::string& text) {
  return check_citations(path, text, small_law()).size();
}

TEST(CitationsRule, ReadsWhatDocumentsState) {
  EXPECT_EQ(rules_stated_in(kProtocol), (std::vector<std::string>{"P-17", "P-17a"}));
  EXPECT_EQ(rules_stated_in(kDesign), (std::vector<std::string>{"S-3"}));
  EXPECT_EQ(rules_stated_in("| S-3 | P-17, P-17a |\nAs P-17 says.\n"), std::vector<std::string>()) << "citations";
  EXPECT_EQ(sections_in(kDesign), (std::set<std::string>{"4", "4.1", "4.9", "10"}));
}

TEST(CitationsRule, FindsRulesThatAreNotThere) {
  EXPECT_EQ(count("runtime/a.h", "// As P-17 .. P-17a say (S-3).\n"), 0U);
  EXPECT_EQ(count("runtime/a.h",
                  "// As P-1"
                  "8 says, and S-"
                  "4.\n"),
            2U);
  EXPECT_EQ(count("runtime/a.cpp",
                  "f(\"it has no sum (P-17"
                  "b)\");\n"),
            1U)
      << "words for people";
  EXPECT_EQ(count("runtime/a.cpp", "EVP_EC_gen(\"P-256\");  // GPT-2, UTF-8, step-1\n"), 0U) << "no rules";
  EXPECT_EQ(count("README.md",
                  "See P-1"
                  "8.\n"),
            1U);
}

TEST(CitationsRule, FindsDocumentsAndSectionsThatAreNotThere) {
  EXPECT_EQ(count("runtime/a.h", "// DESIGN.md §4.9, §10; `runtime/PROTOCOL.md` §4, README.md\n"), 0U);
  EXPECT_EQ(count("runtime/a.h",
                  "// design"
                  ".md §4\n"),
            2U)
      << "the document, and its section";
  EXPECT_EQ(count("runtime/a.h", "// DESIGN.md §4.2, §11\n"), 2U);
  EXPECT_EQ(count("runtime/a.h",
                  "// README"
                  ".md §4\n"),
            1U)
      << "it has no numbers";
  EXPECT_EQ(count("runtime/a.h", "// DESIGN.md, and RFC 5905 §8\n"), 0U) << "of another document";
  EXPECT_EQ(count("runtime/a.cpp",
                  "write(\"gone"
                  ".md\");\n"),
            0U)
      << "no comment";
  EXPECT_EQ(count("runtime/DESIGN.md", "(§4.9; `PROTOCOL.md` §4)\n"), 0U) << "its own";
  EXPECT_EQ(count("runtime/DESIGN.md", "(§4.8; `PROTOCOL.md` §5)\n"), 2U);
}

TEST(CitationsRule, FindsLinksThatLeadNowhere) {
  const std::vector<std::string> files = {"README.md", "launch/RUNS.md", "runtime/DESIGN.md"};
  const auto find = [&](const char* path, const std::string& text) { return check_links(path, text, files).size(); };
  EXPECT_EQ(find("README.md", "[a](launch/RUNS.md) [b](launch/RUNS.md#resume) [c](#here) [d](launch) [e](launch/)\n"),
            0U);
  EXPECT_EQ(find("launch/RUNS.md", "[a](RUNS.md), [b](../runtime/DESIGN.md) ![c](https://example.org/c.svg)\n"), 0U);
  EXPECT_EQ(find("launch/RUNS.md", "[a](launch/RUNS.md)\n"), 1U) << "from its own folder";
  EXPECT_EQ(find("README.md", "[a](RUNS.md) ![b](launch/plot.svg)\n"), 2U);
}

TEST(CitationsRule, FindsRulesThatNobodyCites) {
  const auto find = [](const std::vector<std::string>& stated, const std::string& text) {
    return check_rules_are_cited("runtime/PROTOCOL.md", stated, rules_cited_in(text)).size();
  };
  EXPECT_EQ(find({"P-17", "P-17a"}, "// P-17\n// (P-17a)\n"), 0U);
  EXPECT_EQ(find({"P-17", "P-17a"}, "// P-17\n"), 1U);
  EXPECT_EQ(find({"P-17"},
                 "// P-17a, and xP-17, P-1"
                 "70\n"),
            1U)
      << "other words";
  EXPECT_EQ(find({"P-17", "P-17"}, "// P-17\n"), 1U) << "stated twice";
}

}  // namespace
}  // namespace shoal::tidy::citations_test
