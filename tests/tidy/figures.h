// Figures of the code's shape, for a table before and after a change of structure: `tests/tidy/figures` prints them.
//
// Pure: sources in, figures out. They are found by outline.h, so they are exact for code that clang-format laid out.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"
#include "tests/tidy/source_text.h"

namespace shoal::tidy {

struct ClassFigures {
  std::string name;
  std::string path;  // the file that declares it
  std::size_t fields = 0;
  std::size_t methods = 0;  // declared or defined in its body; those of nested types are theirs
  std::size_t files = 0;    // sources that define methods of it
  // Pairs of methods, one calling the other, whose bodies stand in different sources.
  std::size_t calls_between_files = 0;
  friend bool operator==(const ClassFigures&, const ClassFigures&) = default;
};

// Every class and struct with methods, the widest (fields + methods) first.
[[nodiscard]] std::vector<ClassFigures> classes_of(const std::vector<SourceFile>& sources);

struct Place {
  std::string path;
  std::string name;  // a function's; empty for a file
  std::size_t lines = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
[[nodiscard]] Place longest_header(const std::vector<SourceFile>& sources);
[[nodiscard]] Place longest_function(const std::vector<SourceFile>& sources);

// Words that make a reader look for the noun of a comment.
inline constexpr std::array<std::string_view, 9> kWordsWithoutNoun = {"of",   "who",     "whom",  "whose", "what",
                                                                      "that", "whether", "where", "it"};

struct CommentFigures {
  std::size_t comments = 0;      // blocks of whole lines, and comments behind code
  std::size_t without_noun = 0;  // those that begin with one of kWordsWithoutNoun, in any case
  friend bool operator==(const CommentFigures&, const CommentFigures&) = default;
};
[[nodiscard]] CommentFigures comments_of(const SourceFile& source);

// Largest share of comments without a noun, over all sources together, in thousandths.
inline constexpr std::size_t kWithoutNounPerMilleMax = 30;
// Names the five sources with most of them where the share is larger; empty: it is not.
[[nodiscard]] Findings check_comment_begins(const std::vector<SourceFile>& sources);

// The files that know a thing by its name, given as `FileChunk`: as that, `file_chunk`, `FILE_CHUNK`, `fileChunk` or
// `file-chunk`, as a whole word. One path for each, sorted.
[[nodiscard]] std::vector<std::string> files_that_name(const std::string& name, const std::vector<SourceFile>& files);

}  // namespace shoal::tidy
