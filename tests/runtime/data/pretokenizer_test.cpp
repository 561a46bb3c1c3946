// The pieces of a text: pinned ones, a second implementation for ASCII, and seams that change nothing.
#include "runtime/data/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <random>

namespace shoal::pretokenizer_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Pieces = std::vector<std::string>;

Pieces cut(std::string_view text) {
  static const Pretokenizer pretokenizer;
  const auto pieces = pretokenizer.cut(text);
  return {pieces.begin(), pieces.end()};
}

std::string join(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// Says whether a piece of white space leaves its last blank to what follows it: GPT-2's look-ahead.
enum class LookAhead { kYes, kNo };

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

int kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return is_blank(c) ? 0 : std::isalpha(byte) != 0 ? 1 : std::isdigit(byte) != 0 ? 2 : 3;
}

// GPT-2's expression for ASCII, by hand: the length of the piece at the beginning of `text`.
std::size_t ascii_piece(std::string_view text, LookAhead look_ahead) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  const std::size_t first = text[0] == ' ' && text.size() > 1 && !is_blank(text[1]) ? 1 : 0;
  const int kind = kind_of(text[first]);
  std::size_t end = first;
  while (end < text.size() && kind_of(text[end]) == kind) ++end;
  const bool gives_one_back = kind == 0 && look_ahead == LookAhead::kYes && end < text.size() && end > 1;
  return gives_one_back ? end - 1 : end;
}

Pieces cut_ascii(std::string_view text, LookAhead look_ahead) {
  Pieces pieces;
  while (!text.empty()) {
    pieces.emplace_back(text.substr(0, ascii_piece(text, look_ahead)));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

std::string random_text(std::mt19937_64& random, std::string_view alphabet, std::size_t length) {
  std::string text;
  while (text.size() < length) text += alphabet[random() % alphabet.size()];
  return text;
}

// Python's regex module gives these pieces with the same expression.
TEST(Pretokenizer, CutsAsGpt2Does) {
  EXPECT_THAT(cut("Hello world's  end"), ElementsAre("Hello", " world", "'s", " ", " end"));
  EXPECT_THAT(
      cut("It's  naïve—they'll   pay £3,000½ for 2²³"),
      ElementsAre("It", "'s", " ", " naïve", "—", "they", "'ll", "  ", " pay", " £", "3", ",", "000½", " for", " 2²³"));
  EXPECT_THAT(cut("z'S I'd've"), ElementsAre("z", "'", "S", " I", "'d", "'ve"));
  EXPECT_THAT(cut(" 日本語テスト e\u0301 😀👍🏽 \t\tend  "),
              ElementsAre(" 日本語テスト", " e", "\u0301", " 😀👍🏽", " \t", "\t", "end", "  "));
  EXPECT_THAT(cut(""), IsEmpty());
}

TEST(Pretokenizer, TakesUnicodesWhiteSpaceAndNothingElseForIt) {
  EXPECT_THAT(cut("x\u00a0\u2003y\u2028\r\n\n z\u0085a"),
              ElementsAre("x", "\u00a0", "\u2003", "y", "\u2028\r\n\n", " z", "\u0085", "a"));
  EXPECT_THAT(cut("x\u180e\u180ez"), ElementsAre("x", "\u180e\u180e", "z"));  // \s of PCRE2, no White_Space
  EXPECT_THAT(cut("x\x1c\x1fz"), ElementsAre("x", "\x1c\x1f", "z"));          // str.isspace() of Python, no White_Space
}

TEST(Pretokenizer, MakesAPieceOfEachByteThatIsNotUtf8) {
  EXPECT_THAT(cut("ab\xff\xfe"
                  "cd  \xc3"),
              ElementsAre("ab", "\xff", "\xfe", "cd", "  ", "\xc3"));
  EXPECT_THAT(cut("\xe2\x82 1"), ElementsAre("\xe2", "\x82", " 1"));      // a cut euro sign
  EXPECT_THAT(cut("\xed\xa0\x80"), ElementsAre("\xed", "\xa0", "\x80"));  // a surrogate
  EXPECT_THAT(cut("\xc0\xaf"
                  "a"),
              ElementsAre("\xc0", "\xaf", "a"));  // an overlong form
  EXPECT_THAT(cut(std::string_view("a\0\0b", 4)), ElementsAre("a", std::string(2, '\0'), "b"));
}

TEST(Pretokenizer, CutsRandomAsciiAsTheExpressionReadByHand) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int different = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::string text = random_text(random, "aZstrevldm''019.,-  \n\t", 1 + random() % 40);
    ASSERT_EQ(cut(text), cut_ascii(text, LookAhead::kYes)) << testing::PrintToString(text);
    different += cut(text) != cut_ascii(text, LookAhead::kNo) ? 1 : 0;
  }
  EXPECT_GT(different, 1000) << "without the look-ahead it is another expression";
}

TEST(Pretokenizer, LosesNoByteOfAnything) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::string text = random_text(random, "a1 \n\xc3\xa9\xe2\x80\x83\xf0\x9f\x98\x80\xff", random() % 60);
    ASSERT_EQ(join(cut(text)), text) << testing::PrintToString(text);
  }
}

TEST(Pretokenizer, TakesLongRunsOfOneKind) {
  const std::string letters(1 << 20, 'a');
  const std::string blanks(1 << 20, ' ');
  EXPECT_THAT(cut(letters + "1"), ElementsAre(letters, "1"));
  EXPECT_THAT(cut(blanks + "a"), ElementsAre(blanks.substr(1), " a"));
}

TEST(Seam, ChangesNoPiece) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int changed_elsewhere = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::string text = random_text(random, "abs'1. \n\xc3\xa9\xff", 2 + random() % 40);
    const auto parted_at = [&text](std::size_t at) {
      Pieces pieces = cut(std::string_view(text).substr(0, at));
      const Pieces rest = cut(std::string_view(text).substr(at));
      pieces.insert(pieces.end(), rest.begin(), rest.end());
      return pieces;
    };
    const std::size_t wanted = random() % text.size();
    const std::size_t seam = seam_after(text, wanted);
    ASSERT_TRUE(seam > 0 && seam >= wanted && seam <= text.size());
    ASSERT_EQ(parted_at(seam), cut(text)) << testing::PrintToString(text) << " at " << seam;
    changed_elsewhere += parted_at(wanted) != cut(text) ? 1 : 0;
  }
  EXPECT_GT(changed_elsewhere, 500) << "any other place will not do";
}

}  // namespace
}  // namespace shoal::pretokenizer_test
