// ENSURE(condition, why): a broken invariant of this program.
//
// It throws Bug, which no code of ours catches but the edges: an actor dies and its supervisor decides, a command
// prints the sentence and exits 1. It is always compiled in; invariants worth stating are worth keeping.
#pragma once

#include <stdexcept>
#include <string>

namespace shoal {

struct Bug : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void report_bug(const char* file, int line, const char* condition, const std::string& why) {
  throw Bug(std::string(file) + ":" + std::to_string(line) + ": ENSURE(" + condition + ") failed: " + why);
}

}  // namespace shoal

#define ENSURE(condition, why)                                                    \
  do {                                                                            \
    if (!(condition)) ::shoal::report_bug(__FILE__, __LINE__, #condition, (why)); \
  } while (false)
