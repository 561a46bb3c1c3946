// The printable form of bytes: GPT-2's table, both ways.
#include "runtime/data/tokenizers/byte_level.h"

#include <gtest/gtest.h>

namespace shoal::byte_level_test {
namespace {

TEST(ByteLevel, PrintsEachByteAsOneCharacterAndReadsItBack) {
  EXPECT_EQ(printed("a~"), "a~");
  EXPECT_EQ(printed(std::string(1, '\0') + " \xad\xe9"), "\u0100\u0120\u0143\u00e9");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes_of_printed(printed(all)), all);
  EXPECT_EQ(bytes_of_printed(""), "");
}

TEST(ByteLevel, KnowsWhatStandsForNoByte) {
  for (const char* text : {"a b", "\u0144", "\u65e5", "a\xc3", "\xff", "\u00ad"}) {
    EXPECT_FALSE(bytes_of_printed(text)) << text;
  }
}

}  // namespace
}  // namespace shoal::byte_level_test
