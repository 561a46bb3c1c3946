// Tests that the outline finds functions, parameters, fields and lambdas in the shapes our code has, and no others.
#include "tests/tidy/outline.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::tidy::outline_test {
namespace {

Outline outline(std::string text) {
  // A namespace around the text, on its first line, so that line numbers stay.
  return outline_of(make_source("runtime/a.cpp", "namespace shoal { " + std::move(text) + "\n}\n"));
}

Function only_function(const std::string& text) {
  const auto functions = outline(text).functions;
  EXPECT_EQ(functions.size(), 1U) << text;
  return functions.empty() ? Function{} : functions.front();
}

TEST(Outline, MeasuresAFunctionFromItsHeadToItsBrace) {
  const Function function = only_function("\nint f(int a,\n      int b) {\n  return a + b;\n}");
  EXPECT_EQ(function.name, "f");
  EXPECT_EQ(function.first_line, 2U);
  EXPECT_EQ(function.last_line, 5U);
  EXPECT_EQ(function.parameter_count, 2U);
}

TEST(Outline, CountsParametersNotCommas) {
  EXPECT_EQ(only_function("void f();").parameter_count, 0U);
  EXPECT_EQ(only_function("void f(std::map<int, int> a, std::array<int, 2> b = {1, 2});").parameter_count, 2U);
  EXPECT_EQ(only_function("template <class A, class B> auto f(A a, B b) -> std::pair<A, B>;").parameter_count, 2U);
  EXPECT_EQ(only_function("std::function<void(int, int)> f(int a);").parameter_count, 1U);
  EXPECT_EQ(only_function("bool operator()(int a, int b, int c) const;").parameter_count, 3U);
}

TEST(Outline, SeesConstructorsWithBracedMembers) {
  const auto seen =
      outline("class A {\n public:\n  A(int a, int b) noexcept : a_{a}, b_{b} {\n  }\n private:\n  int a_, b_;\n};");
  ASSERT_EQ(seen.functions.size(), 1U);
  EXPECT_EQ(seen.functions[0].parameter_count, 2U);
  EXPECT_EQ(seen.functions[0].last_line, 4U);
  ASSERT_EQ(seen.types.size(), 1U);
  EXPECT_EQ(seen.types[0].name, "A");
  EXPECT_EQ(seen.types[0].field_count, 2U);
}

TEST(Outline, CountsFieldsOfATypeOnly) {
  const auto seen = outline(
      "struct RouterState final : Base {\n  int a{0};\n  std::map<int, int> b;\n  static int s;\n"
      "  using T = int;\n  void f();\n  friend bool operator==(const A&, const A&) = default;\n"
      "  enum class E { kOne, kTwo };\n  struct Inner { int x; };\n  double c = 0, d = 1;\n};");
  ASSERT_EQ(seen.types.size(), 2U);
  EXPECT_EQ(seen.types[0].name, "RouterState");
  EXPECT_EQ(seen.types[0].field_count, 4U);
  EXPECT_TRUE(seen.types[1].is_nested);
}

TEST(Outline, EndsAMacroThatStandsOnALineOfItsOwn) {
  const auto seen = outline("BEGIN_BLOCK(a, b)\n  ADD(c)\nEND_BLOCK(a)\nvoid f() {\n}\nTEST(A, B) {\n  f();\n}");
  ASSERT_EQ(seen.functions.size(), 2U);
  EXPECT_EQ(seen.functions[0].name, "f");
  EXPECT_EQ(seen.functions[0].first_line, 4U);
  EXPECT_EQ(seen.functions[1].name, "TEST");
}

TEST(Outline, IsNotFooledByInitialisers) {
  const auto seen = outline(
      "constexpr std::array kA = {1, 2};\nstd::atomic<int> b{0};\nconst int c = f({1, 2}, 3);\n"
      "enum class E : int { kOne = 1 };\nCAF_ADD_TYPE_ID(shoal, (A))\nint g() { return 1; }");
  ASSERT_EQ(seen.functions.size(), 1U);
  EXPECT_EQ(seen.functions[0].last_line, 6U);
}

TEST(Outline, FindsLambdasButNotSubscripts) {
  const SourceFile source = make_source("actors/a.cpp",
                                        "B::behavior_type f() {\n  int x = a[i](3);\n  return {\n    [self](int m) {\n"
                                        "      one();\n      two();\n    },\n    [] { return 1; },\n  };\n}\n");
  const auto functions = outline_of(source).functions;
  ASSERT_EQ(functions.size(), 1U);
  const auto lambdas = lambdas_in(source, functions[0]);
  ASSERT_EQ(lambdas.size(), 2U);
  EXPECT_EQ(lambdas[0].first_line, 4U);
  EXPECT_EQ(lambdas[0].body_line_count, 2U);
  EXPECT_EQ(lambdas[1].body_line_count, 1U);
}

}  // namespace
}  // namespace shoal::tidy::outline_test
