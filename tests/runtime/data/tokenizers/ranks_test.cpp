// Files of ranks: what is read, what is refused, and where GPT-2's comes from when there is no network.
#include "runtime/data/tokenizers/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/compose.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::ranks_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto tokens = parse_ranks(text, "x.tiktoken");
  EXPECT_FALSE(tokens.ok());
  if (tokens.ok()) return "";
  EXPECT_EQ(tokens.failure().error, Error::kInvalidData);
  EXPECT_THAT(tokens.failure().message, HasSubstr("x.tiktoken"));
  return tokens.failure().message;
}

TEST(Ranks, ReadBackInAnyOrderOfTheirLines) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 20; ++trial) {
    const auto tokens = random_tokens(random, "abc\xff\n", 1 + static_cast<int>(random() % 50));
    std::vector<std::string> lines;
    for (std::size_t rank = 0; rank < tokens.size(); ++rank) lines.push_back(compose(base64(tokens[rank]), " ", rank));
    std::shuffle(lines.begin(), lines.end(), random);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    const auto read = parse_ranks(text, "x.tiktoken");
    ASSERT_TRUE(read.ok()) << read.failure().message;
    EXPECT_EQ(*read, tokens);
  }
}

TEST(Ranks, AreRefusedWithTheLineThatIsWrong) {
  const std::string good = ranks_text(every_byte());
  ASSERT_TRUE(parse_ranks(good, "").ok());
  ASSERT_TRUE(parse_ranks(std::string_view(good).substr(0, good.size() - 1), "").ok()) << "no newline at the end";
  for (const char* line : {"", "YWI=", "YWI= ", "YWI= x", "YWI= -1", "YWI= 256x", "YWI 256", "YW= 256", "YWJ= 256",
                           "==== 256", "Y=I= 256", "YW!= 256", " 256", "YWI=  256"}) {
    EXPECT_THAT(refusal(good + line + "\n"), HasSubstr("line 257")) << line;
  }
  EXPECT_THAT(refusal(good + "YWI= 255\n"), HasSubstr("rank 255"));
  EXPECT_THAT(refusal(good + "YWI= 257\n"), HasSubstr("rank 257"));
  EXPECT_THAT(refusal(good + "YQ== 256\n"), HasSubstr("a token twice"));
  std::vector<std::string> tokens = every_byte();
  tokens[200] = "ab";
  EXPECT_THAT(refusal(ranks_text(tokens)), HasSubstr("the byte 200"));
  EXPECT_THAT(refusal(""), HasSubstr("the byte 0"));
  EXPECT_THAT(refusal("a text\nof words\n"), HasSubstr("line 1"));
}

TEST(FetchGpt2Ranks, SaysWhatALocalFolderLacks) {
  const Scratch scratch;
  const Setting local("SHOAL_CORPORA", scratch.path().string());
  const auto refused = fetch_gpt2_ranks(scratch.path() / "kept");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("gpt2.tiktoken"), HasSubstr("openai-whisper")));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path() / "kept"));
}

TEST(FetchGpt2Ranks, RefusesAnotherFileUnderTheName) {
  const Scratch scratch;
  (void)scratch.file("gpt2.tiktoken", ranks_text(every_byte()));
  const Setting local("SHOAL_CORPORA", scratch.path().string());
  const auto refused = fetch_gpt2_ranks(scratch.path() / "kept");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_THAT(refused.failure().message, HasSubstr(std::string(kGpt2RanksSha256)));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "kept/gpt2.tiktoken"));
}

TEST(FetchGpt2Ranks, SaysWhenThereIsNoPip) {
  const Scratch scratch;
  const Setting nowhere("PATH", scratch.path().string());
  const Setting none("SHOAL_CORPORA", "");
  const auto refused = fetch_gpt2_ranks(scratch.path() / "kept");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUnreachable);
  EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("cannot start python3"), HasSubstr("SHOAL_CORPORA")));
}

}  // namespace
}  // namespace shoal::ranks_test
