// The outline of a source file: its functions and types with their sizes, found without a C++ parser.
//
// Works on blanked code (source_text.h) and tracks brackets; a head (what stands between the last `;`, `{` or `}` and
// the next `{` or `;`) is told apart into namespace, type, function and initialiser. Bodies of functions are not
// looked into, so lambdas count to the function that holds them. Code that the compiler accepts and clang-format laid
// out is read rightly but for macros that open braces.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/tidy/source_text.h"

namespace shoal::tidy {

struct Function {
  std::string name;
  std::string head;            // everything before the body
  std::size_t first_line = 0;  // the head's
  std::size_t last_line = 0;   // the closing brace's; the head's when there is only a declaration
  std::size_t parameter_count = 0;
  std::size_t body_begin = 0;  // position of the opening brace; 0 when there is only a declaration
  std::size_t body_end = 0;
};

struct Type {
  std::string name;
  std::size_t line = 0;
  std::size_t field_count = 0;
  bool is_nested = false;
  std::size_t body_begin = 0;
  std::size_t body_end = 0;
};

struct Outline {
  std::vector<Function> functions;
  std::vector<Type> types;  // classes, structs and unions; no enumerations
};

[[nodiscard]] Outline outline_of(const SourceFile& source);

// The bodies of the lambdas directly inside a function's body, lambdas within lambdas not counted again.
struct Lambda {
  std::size_t first_line = 0;
  std::size_t body_line_count = 0;  // lines between its braces; 1 when all is on one line
};
[[nodiscard]] std::vector<Lambda> lambdas_in(const SourceFile& source, const Function& function);

}  // namespace shoal::tidy
