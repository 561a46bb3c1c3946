// Asks the machine's own shell whether it reads a quoted word back as that word.
#include "runtime/base/text/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace shoal::shell_word_test {
namespace {

std::string echoed_by_shell(const std::string& word) {
  FILE* shell = ::popen(("printf %s " + word).c_str(), "r");
  if (shell == nullptr) return "no shell";
  std::string text;
  std::array<char, 256> piece{};
  for (std::size_t size = 0; (size = std::fread(piece.data(), 1, piece.size(), shell)) > 0;) {
    text.append(piece.data(), size);
  }
  ::pclose(shell);
  return text;
}

TEST(ShellWord, IsReadBackByAShell) {
  for (const std::string word : {"runs/a", "with blank", "it's", "$HOME", "`id`", "a;b", "*", "\"quoted\"", "\\", "",
                                 "line\nbreak", "~", "#no comment", "ü"}) {
    EXPECT_EQ(echoed_by_shell(shell_word(word)), word);
  }
  EXPECT_NE(echoed_by_shell("$HOME"), "$HOME") << "control: unquoted";
}

TEST(ShellWord, LeavesPlainWordsAsTheyAre) {
  EXPECT_EQ(shell_word("runs/2026-10-01_small"), "runs/2026-10-01_small");
  EXPECT_EQ(shell_word("run.steps=20"), "run.steps=20");
  EXPECT_EQ(shell_word("a b"), "'a b'");
}

}  // namespace
}  // namespace shoal::shell_word_test
