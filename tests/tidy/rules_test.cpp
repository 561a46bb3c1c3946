// Negative controls: each rule is shown text that breaks it, right beside text that keeps it.
#include "tests/tidy/rules.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::tidy::rules_test {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string function_of(std::size_t lines) { return "void f() {\n" + repeated("  g();\n", lines - 2) + "}\n"; }

template <class Rule>
std::size_t count(Rule rule, const std::string& path, const std::string& text) {
  return rule(make_source(path, text)).size();
}

TEST(TidyRules, CatchLongFiles) {
  EXPECT_EQ(count(check_file_length, "model/a.h", repeated("\n", 250)), 0U);
  EXPECT_EQ(count(check_file_length, "model/a.h", repeated("\n", 251)), 1U);
  EXPECT_EQ(count(check_file_length, "model/a.cpp", repeated("\n", 501)), 1U);
  EXPECT_EQ(count(check_file_length, "tests/model/a_test.cpp", repeated("\n", 600)), 0U);
  EXPECT_EQ(count(check_file_length, "tests/model/a_test.cpp", repeated("\n", 601)), 1U);
}

TEST(TidyRules, CatchLongFunctions) {
  EXPECT_EQ(count(check_functions, "runtime/a.cpp", function_of(70)), 0U);
  EXPECT_EQ(count(check_functions, "runtime/a.cpp", function_of(71)), 1U);
  EXPECT_EQ(count(check_functions, "actors/a.cpp", function_of(40)), 0U);
  EXPECT_EQ(count(check_functions, "actors/a.cpp", function_of(41)), 1U);
  EXPECT_EQ(count(check_functions, "actors/a.cpp", "A::behavior_type " + function_of(50).substr(5)), 0U);
  EXPECT_EQ(count(check_functions, "actors/a.cpp", "A::behavior_type " + function_of(51).substr(5)), 1U);
}

TEST(TidyRules, CatchManyParameters) {
  EXPECT_EQ(count(check_functions, "runtime/a.h", "void f(int a, int b, int c, int d, int e);\n"), 0U);
  EXPECT_EQ(count(check_functions, "runtime/a.h", "void f(int a, int b, int c, int d, int e, int g);\n"), 1U);
}

TEST(TidyRules, CatchHandlersWithLogic) {
  const auto behavior = [](std::size_t lines) {
    return "A::behavior_type f() {\n  return {[self](int m) {\n" + repeated("  g();\n", lines) + "  }};\n}\n";
  };
  EXPECT_EQ(count(check_handlers, "actors/a.cpp", behavior(5)), 0U);
  EXPECT_EQ(count(check_handlers, "actors/a.cpp", behavior(6)), 1U);
  EXPECT_EQ(count(check_handlers, "launch/a.cpp", behavior(6)), 0U);
}

TEST(TidyRules, CatchFatStatesAndConversations) {
  EXPECT_EQ(count(check_state_fields, "actors/a.h", "struct AState {\n" + repeated("int a;\n", 12) + "};\n"), 0U);
  EXPECT_EQ(count(check_state_fields, "actors/a.h", "struct AState {\n" + repeated("int a;\n", 13) + "};\n"), 1U);
  const std::string part = "struct Part {};\nstruct Whole { Part part; };\n";
  EXPECT_EQ(count(check_message_count, "messages/a.h", part + repeated("struct A {};\n", 11)), 0U);
  EXPECT_EQ(count(check_message_count, "messages/a.h", part + repeated("struct A {};\n", 12)), 1U);
}

TEST(TidyRules, CatchLongLinesByColumnsNotBytes) {
  EXPECT_EQ(count(check_line_lengths, "model/a.h", repeated("─", 120)), 0U);
  EXPECT_EQ(count(check_line_lengths, "model/a.h", repeated("x", 121)), 1U);
}

TEST(TidyRules, CatchArrowsThatPointTheWrongWay) {
  const auto including = [](const std::string& path, const std::string& target) {
    return count(check_arrows, path, "#include " + target + "\n");
  };
  EXPECT_EQ(including("actors/a.cpp", "\"runtime/pipeline/b.h\""), 0U);
  EXPECT_EQ(including("runtime/device/a.cpp", "\"model/b.h\""), 0U);
  EXPECT_EQ(including("runtime/device/a.cpp", "<torch/torch.h>"), 0U);
  EXPECT_EQ(including("messages/a.h", "\"runtime/base/error.h\""), 1U);
  EXPECT_EQ(including("model/a.h", "\"messages/ids.h\""), 1U);
  EXPECT_EQ(including("runtime/pipeline/a.cpp", "\"model/b.h\""), 1U);
  EXPECT_EQ(including("runtime/pipeline/a.cpp", "\"runtime/device/b.h\""), 1U);
  EXPECT_EQ(including("runtime/pipeline/a.cpp", "\"actors/b.h\""), 1U);
  EXPECT_EQ(including("runtime/pipeline/a.cpp", "<caf/all.hpp>"), 1U);
  EXPECT_EQ(including("runtime/transport/a.cpp", "<caf/all.hpp>"), 0U);
  EXPECT_EQ(including("actors/a.cpp", "\"runtime/device/b.h\""), 1U);
  EXPECT_EQ(including("actors/a.cpp", "<ATen/ATen.h>"), 1U);
  EXPECT_EQ(including("launch/a.cpp", "\"tests/support/b.h\""), 1U);
  EXPECT_EQ(including("launch/a.cpp", "\"b.h\""), 1U);
  EXPECT_EQ(including("attic/a.cpp", "<vector>"), 1U);
}

TEST(TidyRules, CatchSilentOpenings) {
  const std::string comment = "// What it is.\n// Why it is.\n";
  EXPECT_EQ(count(check_opening, "model/a.h", comment + "#pragma once\n"), 0U);
  EXPECT_EQ(count(check_opening, "model/a.h", comment), 1U);
  EXPECT_EQ(count(check_opening, "model/a.h", "// What it is.\n#pragma once\n"), 1U);
  EXPECT_EQ(count(check_opening, "model/a.cpp", "// What it is.\nint a;\n"), 0U);
  EXPECT_EQ(count(check_opening, "model/a.cpp", "int a;\n"), 1U);
}

TEST(TidyRules, CatchAnOwnHeaderThatComesLate) {
  EXPECT_EQ(count(check_own_header_first, "model/a.cpp", "#include \"model/a.h\"\n#include <vector>\n"), 0U);
  EXPECT_EQ(count(check_own_header_first, "model/a.cpp", "#include <vector>\n#include \"model/a.h\"\n"), 1U);
  EXPECT_EQ(count(check_own_header_first, "model/a.cpp", "#include <vector>\n"), 1U);
}

TEST(TidyRules, CatchATestInTheNamespaceOfOthers) {
  EXPECT_EQ(count(check_own_namespace, "tests/a_test.cpp", "int a;\nnamespace shoal::a_test {\n"), 0U);
  EXPECT_EQ(count(check_own_namespace, "tests/b/a_test.cpp", "int a;\nnamespace shoal::fuzz::b_a_test {\n"), 0U);
  EXPECT_EQ(count(check_own_namespace, "tests/b/a_test.cpp", "int a;\nnamespace shoal::c_a_test {\n"), 1U);
  EXPECT_EQ(count(check_own_namespace, "tests/a_test.cpp", "int a;\nnamespace shoal {\n"), 1U);
  EXPECT_EQ(count(check_own_namespace, "tests/a_test.cpp", "int a;\nnamespace shoal::b_test {\n"), 1U);
}

TEST(TidyRules, CatchForbiddenWords) {
  EXPECT_EQ(count(check_forbidden_words, "model/a.cpp", "printf(x); std::cout << x;"), 2U);
  EXPECT_EQ(count(check_forbidden_words, "model/a.cpp", "snprintf(x); // printf\nf(\"std::cout\");"), 0U);
  EXPECT_EQ(count(check_forbidden_words, "launch/a.cpp", "std::cout << x;"), 0U);
  EXPECT_EQ(count(check_forbidden_words, "actors/a.cpp", "f([=] { g(); }); f([=, &a] {});"), 2U);
  EXPECT_EQ(count(check_forbidden_words, "actors/a.cpp", "f([self] { g(); }); a[b == c]; f([x = 1] {});"), 0U);
  EXPECT_EQ(count(check_forbidden_words, "model/a.h", "using namespace std;"), 1U);
  EXPECT_EQ(count(check_forbidden_words, "model/a.h", "using std::vector;"), 0U);
  EXPECT_EQ(count(check_forbidden_words, "tests/a_test.cpp", "std::this_thread::sleep_for(1s);"), 1U);
  EXPECT_EQ(count(check_forbidden_words, "runtime/a.cpp", "std::this_thread::sleep_for(1s);"), 0U);
}

}  // namespace
}  // namespace shoal::tidy::rules_test
