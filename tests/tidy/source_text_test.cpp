// Tests that blanking hides exactly what is no code, and keeps every place where it was.
#include "tests/tidy/source_text.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::tidy::source_text_test {
namespace {

std::string code_of(std::string text) { return make_source("model/a.cpp", std::move(text)).code; }

TEST(SourceText, BlanksCommentsLiteralsAndDirectives) {
  EXPECT_EQ(code_of("a(); // b\nc();"), "a();     \nc();");
  EXPECT_EQ(code_of("a(/* b\n */ c);"), "a(    \n    c);");
  EXPECT_EQ(code_of(R"(f("x\"y", 'z');)"), "f(      ,    );");
  EXPECT_EQ(code_of("#define A \\\n  b\nc"), "           \n   \nc");
}

TEST(SourceText, BlanksRawStringsToTheirOwnEnd) { EXPECT_EQ(code_of("f(R\"x(a)\" b)x\");"), "f(            );"); }

TEST(SourceText, KeepsDigitSeparators) { EXPECT_EQ(code_of("int n = 1'000; g();"), "int n = 1'000; g();"); }

TEST(SourceText, KeepsLengthAndLines) {
  const std::string text = "// α\n\"s\n";
  const std::string code = code_of(text);
  EXPECT_EQ(code.size(), text.size());
  EXPECT_EQ(lines_of(code).size(), lines_of(text).size());
}

TEST(SourceText, FindsWholeWordsOnly) {
  EXPECT_EQ(find_word("snprintf printf printf_", "printf").size(), 1U);
  EXPECT_TRUE(find_word("", "printf").empty());
}

TEST(SourceText, ReadsIncludesInOrder) {
  const auto includes = includes_of(make_source("a.cpp", "#include \"b/c.h\"\n#include <vector>\nint x;\n"));
  ASSERT_EQ(includes.size(), 2U);
  EXPECT_EQ(includes[0].target, "b/c.h");
  EXPECT_FALSE(includes[0].is_system);
  EXPECT_EQ(includes[1].target, "vector");
  EXPECT_TRUE(includes[1].is_system);
  EXPECT_EQ(includes[1].line, 2U);
}

}  // namespace
}  // namespace shoal::tidy::source_text_test
