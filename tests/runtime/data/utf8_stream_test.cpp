// Characters out of bytes, whatever the pieces in which they come.
#include "runtime/data/utf8_stream.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::utf8_stream_test {
namespace {

std::string all_of(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.add(bytes);
  return text += stream.finish();
}

std::string in_pieces(std::string_view bytes, std::mt19937_64& random) {
  Utf8Stream stream;
  std::string text;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, random() % 4);
    text += stream.add(piece);
    bytes.remove_prefix(piece.size());
  }
  return text += stream.finish();
}

TEST(Utf8Stream, HoldsACharacterBackUntilItIsWhole) {
  Utf8Stream stream;
  EXPECT_EQ(stream.add("a\xe2"), "a");
  EXPECT_EQ(stream.add("\x82"), "");
  EXPECT_EQ(stream.add("\xac"
                       "b"),
            "\u20ac"
            "b");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.add("\xf0\x9f"), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
  EXPECT_EQ(stream.finish(), "");
}

// Python's bytes.decode("utf-8", "replace") gives these.
TEST(Utf8Stream, ReplacesEachIllFormedPartOnce) {
  EXPECT_EQ(all_of("\xff"
                   "a"),
            "\ufffd"
            "a");
  EXPECT_EQ(all_of("\xe2\x82"
                   "a"),
            "\ufffd"
            "a");
  EXPECT_EQ(all_of("\xe2"
                   "a\xac"),
            "\ufffd"
            "a\ufffd");
  EXPECT_EQ(all_of("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(all_of("\xc0\xaf"), "\ufffd\ufffd");
  EXPECT_EQ(all_of("\xf0\x80\x80\x41"),
            "\ufffd\ufffd\ufffd"
            "A");
  EXPECT_EQ(all_of("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(all_of("\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"), "\U0001f600\U0010ffff");
}

TEST(Utf8Stream, DoesNotCareForThePieces) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr std::string_view kBytes = "a\x80\xbf\xc2\xe0\xa0\xed\x9f\xf0\x90\xf4\x8f\xff";
  for (int trial = 0; trial < 5000; ++trial) {
    std::string bytes;
    for (std::size_t i = random() % 12; i > 0; --i) bytes += kBytes[random() % kBytes.size()];
    const std::string text = all_of(bytes);
    ASSERT_EQ(in_pieces(bytes, random), text) << testing::PrintToString(bytes);
    ASSERT_EQ(all_of(text), text) << "what came out is UTF-8";
  }
}

TEST(WithoutControls, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(without_controls("a\tb\nü \U0001f600"), "a\tb\nü \U0001f600");
  EXPECT_EQ(without_controls("one\r\ntwo\r"), "one\ntwo");
  EXPECT_EQ(without_controls("\x1b[2J\a\x7f"), "\ufffd[2J\ufffd\ufffd");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "5m\xc2\xa0"),
            "\ufffd"
            "5m\xc2\xa0")
      << "U+009B begins a sequence, too";
}

TEST(LastCharacter, IsWhatTheBytesEndWith) {
  EXPECT_EQ(last_character("a"), "a");
  EXPECT_EQ(last_character("a\u00e9"), "\u00e9");
  EXPECT_EQ(last_character("\u65e5\u672c"), "\u672c");
  EXPECT_EQ(last_character("x\U0001F600"), "\U0001F600");
  for (const std::string_view none :
       {"", "\x80", "a\xe6\x97", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "a\xff"}) {
    EXPECT_EQ(last_character(none), "") << testing::PrintToString(none);
  }
}

}  // namespace
}  // namespace shoal::utf8_stream_test
