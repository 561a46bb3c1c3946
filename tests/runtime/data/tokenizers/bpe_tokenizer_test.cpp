// Byte-pair encoding against its definition, step by step: always the least pair, the leftmost of equals.
#include "runtime/data/tokenizers/bpe_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::bpe_tokenizer_test {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

// Says which of the pairs that could be merged is: the definition's, or a wrong one.
enum class Choice { kLeastRank, kLeftmost };

// Merges by the definition, in quadratic time.
Ids merge_slowly(std::string_view piece, const std::vector<std::string>& tokens, Choice choice) {
  std::map<std::string, std::int32_t> ranks;
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) ranks[tokens[rank]] = static_cast<std::int32_t>(rank);
  std::vector<std::string> parts;
  for (const char byte : piece) parts.emplace_back(1, byte);
  while (true) {
    std::optional<std::size_t> best;
    std::int32_t best_rank = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find(parts[i] + parts[i + 1]);
      if (found == ranks.end()) continue;
      const bool is_better = !best || (choice == Choice::kLeastRank && found->second < best_rank);
      if (is_better) best = i, best_rank = found->second;
    }
    if (!best) break;
    parts[*best] += parts[*best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
  Ids ids;
  for (const std::string& part : parts) ids.push_back(ranks.at(part));
  return ids;
}

BpeTokenizer tokenizer_with(const std::vector<std::string>& merges) {
  std::vector<std::string> tokens = every_byte();
  tokens.insert(tokens.end(), merges.begin(), merges.end());
  return {tokens, "of a test"};
}

TEST(BpeTokenizer, MergesTheLeastPairFirst) {
  EXPECT_THAT(tokenizer_with({"bc", "ab"}).merge("abc"), ElementsAre('a', 256));
  EXPECT_THAT(tokenizer_with({"bc", "ab", "abc"}).merge("abc"), ElementsAre(258));
  const BpeTokenizer tokenizer = tokenizer_with({"aa"});
  EXPECT_THAT(tokenizer.merge("aaa"), ElementsAre(256, 'a')) << "the leftmost of equals";
  EXPECT_THAT(tokenizer.merge("aaaa"), ElementsAre(256, 256));
  EXPECT_THAT(tokenizer.merge("x"), ElementsAre('x'));
}

TEST(BpeTokenizer, TakesAPieceThatIsATokenAsIt) {
  const BpeTokenizer tokenizer = tokenizer_with({" w", "wo"});
  EXPECT_THAT(tokenizer.encode("wo wo"), ElementsAre(257, 256, 'o'));
  EXPECT_EQ(tokenizer.vocabulary_size(), 259);
  EXPECT_EQ(tokenizer.bytes_of(257), "wo");
}

TEST(BpeTokenizer, HasAnEndOfTextThatNoTextIs) {
  const BpeTokenizer tokenizer = tokenizer_with({});
  EXPECT_EQ(tokenizer.end_of_text(), 256);
  EXPECT_EQ(tokenizer.bytes_of(256), "<|endoftext|>");
  EXPECT_EQ(tokenizer.encode("<|endoftext|>").size(), 13U);
  EXPECT_THROW((void)tokenizer.bytes_of(257), Bug);
  EXPECT_THROW((void)tokenizer.bytes_of(-1), Bug);
}

TEST(BpeTokenizer, MergesAsTheDefinitionDoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int different = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const std::string alphabet = "abcd";
    const auto tokens = random_tokens(random, alphabet, 5 + static_cast<int>(random() % 60));
    const BpeTokenizer tokenizer(tokens, "of a test");
    for (int text = 0; text < 20; ++text) {
      std::string piece;
      while (piece.size() < 1 + random() % 40) piece += alphabet[random() % alphabet.size()];
      const Ids merged = tokenizer.merge(piece);
      ASSERT_EQ(merged, merge_slowly(piece, tokens, Choice::kLeastRank)) << piece;
      different += merged != merge_slowly(piece, tokens, Choice::kLeftmost) ? 1 : 0;
    }
  }
  EXPECT_GT(different, 100) << "merging what stands first is another encoding";
}

TEST(BpeTokenizer, GivesBackEveryText) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::string alphabet = "ab '\n1\xc3\xa9\xe2\x82\xac\xff";
  for (int trial = 0; trial < 300; ++trial) {
    const BpeTokenizer tokenizer(random_tokens(random, "ab \xc3\xa9", 40), "of a test");
    std::string text;
    for (std::size_t length = random() % 200; text.size() < length;) {
      text += trial % 2 == 0 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
    }
    const Ids ids = tokenizer.encode(text);
    ASSERT_EQ(tokenizer.decode(ids), text) << testing::PrintToString(text);
    ASSERT_EQ(ids, tokenizer.encode(text)) << "the same again";
    for (const std::int32_t id : ids) ASSERT_NE(id, tokenizer.end_of_text());
  }
}

// An algorithm in quadratic time would take minutes.
TEST(BpeTokenizer, IsNotSlowedByAPieceWithoutEnd) {
  const BpeTokenizer tokenizer = tokenizer_with({"aa", "aaaa", "aaaaaaaa"});
  const std::string text(1U << 18U, 'a');
  EXPECT_EQ(tokenizer.encode(text), Ids(text.size() / 8, 258));
}

TEST(BpeTokenizer, RefusesATokenSetWithoutEveryByte) {
  std::vector<std::string> tokens = every_byte();
  tokens[7] = "ab";
  EXPECT_THROW(BpeTokenizer(tokens, ""), Bug);
}

}  // namespace
}  // namespace shoal::bpe_tokenizer_test
