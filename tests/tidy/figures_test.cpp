// Figures of small texts whose classes, calls and comments are counted by hand.
#include "tests/tidy/figures.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shoal::tidy::figures_test {
namespace {

SourceFile in_namespace(std::string path, const std::string& text) {
  return make_source(std::move(path), "namespace shoal {\n" + text + "\n}\n");
}

TEST(Figures, CountFieldsMethodsAndCallsBetweenTheFilesOfAClass) {
  const std::vector<SourceFile> sources = {
      in_namespace("runtime/desk.h",
                   "class Desk {\n public:\n  void take();\n  void give();\n  int left() const { return a_; }\n"
                   " private:\n  struct Row {\n    int x, y;\n    void clear();\n  };\n  int a_, b_ = 0;\n};"),
      in_namespace("runtime/desk.cpp", "void Desk::take() { give(); left(); }"),
      in_namespace("runtime/desk_giving.cpp", "void Desk::give() {\n  other.take();\n}"),
      in_namespace("actors/desk.cpp", "void Desk::give() { take(); }"),  // a method of another Desk
  };
  const auto classes = classes_of(sources);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0], (ClassFigures{"Desk", "runtime/desk.h", 2, 3, 2, 1})) << "take() calls give(), alone";
  EXPECT_EQ(classes[1].name, "Row");
  EXPECT_EQ(classes[1].methods, 1U);
}

TEST(Figures, FindTheLongestHeaderAndFunction) {
  const std::vector<SourceFile> sources = {
      in_namespace("runtime/a.h", "int f();\n\n\n"),
      in_namespace("runtime/b.cpp", "void g() {\n  h();\n}\nvoid h() {\n  g();\n  g();\n}\n\n\n\n"),
  };
  EXPECT_EQ(longest_header(sources).path, "runtime/a.h");
  EXPECT_EQ(longest_function(sources), (Place{"runtime/b.cpp", "h", 4}));
}

TEST(Figures, CountWhereACommentBeginsWithoutItsNoun) {
  const SourceFile source = make_source("runtime/a.h",
                                        "// What this is.\n// Of a continued line nothing is said.\n"
                                        "int a;  // of the run\nint b;  // steps\n\n// Returns b.\n"
                                        "const char* url = \"http://that/x\";\n");
  EXPECT_EQ(comments_of(source), (CommentFigures{4, 2}));
}

TEST(Figures, RefuseTooLargeAShareOfCommentsWithoutTheirNoun) {
  const auto with_bad = [](std::size_t bad, std::size_t all) {
    std::vector<SourceFile> sources;
    for (std::size_t i = 0; i < all; ++i) {
      const std::string words = i < bad ? "// Of what it is.\n" : "// Returns a.\n";
      sources.push_back(make_source("runtime/" + std::to_string(i) + ".h", words + "int a;\n"));
    }
    return sources;
  };
  EXPECT_TRUE(check_comment_begins(with_bad(kWithoutNounPerMilleMax, 1000)).empty());
  const auto findings = check_comment_begins(with_bad(kWithoutNounPerMilleMax + 1, 1000));
  ASSERT_EQ(findings.size(), 5U);
  EXPECT_EQ(findings.front().path, "runtime/0.h");
}

TEST(Figures, FindAThingUnderEachOfItsNames) {
  const std::vector<SourceFile> files = {
      make_source("a.h", "struct FileChunk {};"),   make_source("b.capnp", "fileChunk @1 :FileChunk;"),
      make_source("c.cpp", "X(FILE_CHUNK)"),        make_source("d.cpp", "int file_chunk = 0;"),
      make_source("e.cpp", "the profile_chunk is"), make_source("f.cpp", "--file-chunk"),
      make_source("g.cpp", "FileChunks of others"),
  };
  EXPECT_EQ(files_that_name("FileChunk", files),
            (std::vector<std::string>{"a.h", "b.capnp", "c.cpp", "d.cpp", "f.cpp"}));
}

}  // namespace
}  // namespace shoal::tidy::figures_test
