// The pieces of a text: pinned ones, a second implementation for ASCII, and seams that change nothing.
#include "runtime/data/tokenizers/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <random>
#include <utility>
#include <vector>

namespace shoal::pretokenizer_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

const Pretokenizer& pretokenizer_of(Pieces pieces) {
  static const std::array<Pretokenizer, 4> all = {Pretokenizer(Pieces::kGpt2), Pretokenizer(Pieces::kGpt2Digits),
                                                  Pretokenizer(Pieces::kLlama3), Pretokenizer(Pieces::kQwen2)};
  return all.at(static_cast<std::size_t>(pieces));
}

Texts cut(std::string_view text, Pieces pieces = Pieces::kGpt2) {
  const auto parts = pretokenizer_of(pieces).cut(text);
  return {parts.begin(), parts.end()};
}

std::size_t seam_after(std::string_view text, std::size_t wanted, Pieces pieces = Pieces::kGpt2) {
  return pretokenizer_of(pieces).seam_after(text, wanted);
}

std::string join(const Texts& pieces) {
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

Texts cut_ascii(std::string_view text, LookAhead look_ahead) {
  Texts pieces;
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

// The library `tokenizers` gives these pieces with the expressions of the models' tokenizer.json.
TEST(Pretokenizer, CutsAsLaterModelsDo) {
  const std::string shout = "Hello WORLD'S  end\n\n  x";
  EXPECT_THAT(cut(shout, Pieces::kGpt2Digits), ElementsAre("Hello", " WORLD", "'", "S", " ", " end", "\n\n ", " x"));
  for (const Pieces pieces : {Pieces::kLlama3, Pieces::kQwen2}) {
    EXPECT_THAT(cut(shout, pieces), ElementsAre("Hello", " WORLD", "'S", " ", " end", "\n\n", " ", " x"));
    EXPECT_THAT(cut("x\u00a0\u2003y\u2028\r\n\n z\u0085a I'\u017f 'LL", pieces),
                ElementsAre("x", "\u00a0", "\u2003y", "\u2028\r\n\n", " z", "\u0085a", " I", "'\u017f", " '", "LL"));
  }
  const std::string prices = "It's  na\u00efve\u2014they'll   pay \u00a33,000\u00bd for 2\u00b2\u00b34\r\n\r\n";
  EXPECT_THAT(cut(prices, Pieces::kGpt2Digits),
              ElementsAre("It", "'s", " ", " na\u00efve", "\u2014", "they", "'ll", "  ", " pay", " \u00a3", "3", ",",
                          "0", "0", "0", "\u00bd", " for", " ", "2", "\u00b2", "\u00b3", "4", "\r\n\r\n"));
  EXPECT_THAT(cut(prices, Pieces::kLlama3),
              ElementsAre("It", "'s", " ", " na\u00efve", "\u2014they", "'ll", "  ", " pay", " \u00a3", "3", ",", "000",
                          "\u00bd", " for", " ", "2\u00b2\u00b3", "4", "\r\n\r\n"));
  const std::string marks = "a(b)\n\nc!?\n  \n  d  12345 67";
  EXPECT_THAT(cut(marks, Pieces::kGpt2Digits), ElementsAre("a", "(", "b", ")", "\n", "\n", "c", "!?", "\n  \n ", " d",
                                                           "  ", "1", "2", "3", "4", "5", " ", "6", "7"));
  EXPECT_THAT(cut(marks, Pieces::kLlama3),
              ElementsAre("a", "(b", ")\n\n", "c", "!?\n", "  \n", " ", " d", " ", " ", "123", "45", " ", "67"));
  EXPECT_THAT(cut(marks, Pieces::kQwen2), ElementsAre("a", "(b", ")\n\n", "c", "!?\n", "  \n", " ", " d", " ", " ", "1",
                                                      "2", "3", "4", "5", " ", "6", "7"));
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

// More than the ten million steps that PCRE2 takes back of its own accord.
TEST(Pretokenizer, TakesARunOfWhiteSpaceOfAnyLength) {
  const std::string blanks(10'100'000, ' ');
  for (const Pieces pieces : {Pieces::kGpt2, Pieces::kGpt2Digits, Pieces::kLlama3, Pieces::kQwen2}) {
    EXPECT_TRUE(cut(blanks + "a", pieces) == Texts({blanks.substr(1), " a"})) << static_cast<int>(pieces);
  }
}

Texts parted_at(const std::string& text, std::size_t at, Pieces pieces) {
  Texts parts = cut(std::string_view(text).substr(0, at), pieces);
  const Texts rest = cut(std::string_view(text).substr(at), pieces);
  parts.insert(parts.end(), rest.begin(), rest.end());
  return parts;
}

std::string random_words(std::mt19937_64& random, const Texts& words, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += words[random() % words.size()];
  return text;
}

class Seam : public testing::TestWithParam<Pieces> {};

TEST_P(Seam, ChangesNoPiece) {
  const Pieces which = GetParam();
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int changed_elsewhere = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::string text = random_text(random, "abs'1. \n\xc3\xa9\xff", 2 + random() % 40);
    const std::size_t wanted = random() % text.size();
    const std::size_t seam = seam_after(text, wanted, which);
    ASSERT_TRUE(seam > 0 && seam >= wanted && seam <= text.size());
    ASSERT_EQ(parted_at(text, seam, which), cut(text, which)) << testing::PrintToString(text) << " at " << seam;
    changed_elsewhere += parted_at(text, wanted, which) != cut(text, which) ? 1 : 0;
  }
  EXPECT_GT(changed_elsewhere, 300) << "any other place will not do";
}

// Kinds of characters that meet at a seam: endings, white space of 1 to 3 bytes, letters and marks of 1 to 4, and bytes
// that are none.
TEST_P(Seam, ChangesNoPieceOfAnyKindAtAnyWidth) {
  const Pieces which = GetParam();
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Texts words = {
      "'",      "r",      "e",  "S",  "7",      ".", " ", "\n",   "\t",       "\r",   "\u00a0",
      "\u3000", "\u2028", "日", "。", "\u0e01", "é", "😀", "\xff", "\xe3\x80", "\x80", std::string(1, '\0')};
  int inside = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const std::string text = random_words(random, words, 2 + random() % 30);
    const std::size_t wanted = 1 + random() % 8;
    const std::size_t seam = seam_after(text, wanted, which);
    ASSERT_EQ(parted_at(text, seam, which), cut(text, which)) << testing::PrintToString(text) << " at " << seam;
    inside += seam < text.size() ? 1 : 0;
  }
  EXPECT_GT(inside, 15000);
}

TEST(SeamOfGpt2, IsBeforeWhiteSpaceBehindAnyCharacterThatIsNone) {
  EXPECT_EQ(seam_after("\u65e5\u672c\u3002\n\u8a9e", 1), 9U);
  EXPECT_EQ(seam_after("\u65e5\r\n\u672c", 1), 3U);
  EXPECT_EQ(seam_after("\u65e5\u3000\n\u672c", 1), 3U) << "an ideographic space runs together with the line's end";
  for (std::uint32_t code = 0x80; code < 0x10000; code += code < 0x3100 ? 1 : 37) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string character;
    if (code >= 0x800) {
      character += static_cast<char>(0xe0 | code >> 12);
      character += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    } else {
      character += static_cast<char>(0xc0 | code >> 6);
    }
    character += static_cast<char>(0x80 | (code & 0x3f));
    const std::string text = character + "\nz";
    const bool is_white = cut(character + "\n\nz").front() != character;
    ASSERT_EQ(seam_after(text, 1) == character.size(), !is_white) << std::hex << code;
  }
}

// Texts of which 4 MiB are encoded at once: no part may be as long as the text.
TEST_P(Seam, IsNearWhereItIsWantedInTextsOfAnyLanguage) {
  const Pieces which = GetParam();
  const std::vector<std::pair<const char*, Texts>> languages = {
      {"Chinese", {"\u7684", "\u662f", "\u5728\u4e00", "\uff0c", "\u3002", "\u3002\n"}},
      {"Japanese", {"\u306e", "\u306b\u306f", "\u30c6\u30b9\u30c8", "\u3001", "\u3002", "\uff12"}},
      {"Thai", {"\u0e01\u0e32\u0e23", "\u0e17\u0e35\u0e48", " ", "\u0e44\u0e17\u0e22"}},
      {"one line without blanks", {"a", "b", "1", "22", ";", "<", "--"}},
      {"another encoding", {"\xb5\xc4", "\xca\xc7", "\xa1\xa3", "\xa3\xac"}},
      {"endings", {"'s", "'re", "''", "'ll"}},
      {"columns of blanks", {"1", "   ", "\t\t"}}};
  std::mt19937_64 random(7);
  constexpr std::size_t kWanted = 3000;
  for (const auto& [name, words] : languages) {
    const std::string text = random_words(random, words, 60000);
    Texts pieces;
    for (std::string_view left = text; !left.empty();) {
      const std::size_t seam = seam_after(left, kWanted, which);
      ASSERT_LE(seam, 2 * kWanted) << name;
      const Texts some = cut(left.substr(0, seam), which);
      pieces.insert(pieces.end(), some.begin(), some.end());
      left.remove_prefix(seam);
    }
    ASSERT_TRUE(pieces == cut(text, which)) << name;
  }
}

TEST(SeamOfGpt2, OfOnePieceIsItsEnd) {
  const std::string letters(100'000, 'a');
  EXPECT_EQ(seam_after(letters, 1000), letters.size());
  EXPECT_EQ(seam_after(letters + ".." + letters, 1000), letters.size() + 2);
  EXPECT_EQ(seam_after(std::string(100'000, ' '), 1000), 100'000U);
}

std::string name_of(const testing::TestParamInfo<Pieces>& expression) {
  const std::array<const char*, 4> names = {"gpt2", "gpt2_digits", "llama3", "qwen2"};
  return names.at(static_cast<std::size_t>(expression.param));
}

INSTANTIATE_TEST_SUITE_P(Expressions, Seam,
                         testing::Values(Pieces::kGpt2, Pieces::kGpt2Digits, Pieces::kLlama3, Pieces::kQwen2),
                         &name_of);

// Marks take the ends of lines behind them: between the two there is no seam.
TEST(SeamOfLlama3, IsNotBetweenAMarkAndTheEndOfItsLine) {
  const std::string text = "end.\n\nx y";
  EXPECT_EQ(seam_after(text, 4), 4U);
  EXPECT_EQ(seam_after(text, 4, Pieces::kLlama3), 7U);
  EXPECT_NE(parted_at(text, 4, Pieces::kLlama3), cut(text, Pieces::kLlama3));
}

}  // namespace
}  // namespace shoal::pretokenizer_test
