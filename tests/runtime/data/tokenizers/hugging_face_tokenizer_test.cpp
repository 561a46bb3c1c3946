// The files have every key that decides about tokens in transformers.
#include "runtime/data/tokenizers/hugging_face_tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::hugging_face_tokenizer_test {
namespace {

using Json = nlohmann::json;

TEST(HuggingFaceTokenizer, WritesEachByteAsACharacter) {
  const auto written = hugging_face_tokenizer(ByteTokenizer(), 32);
  const Json described = Json::parse(written.tokenizer_json);
  const Json& vocabulary = described["model"]["vocab"];
  EXPECT_EQ(vocabulary.size(), 256U);
  EXPECT_EQ(vocabulary["a"], 'a');
  EXPECT_EQ(vocabulary["~"], '~');
  EXPECT_EQ(vocabulary["\u00e9"], 0xE9);
  EXPECT_EQ(vocabulary["\u0100"], 0);  // the first byte that Latin-1 does not print
  EXPECT_EQ(vocabulary["\u0120"], ' ');
  EXPECT_EQ(vocabulary["\u0143"], 0xAD);  // the last one
  EXPECT_TRUE(described["model"]["merges"].empty());
  EXPECT_TRUE(described["added_tokens"].empty());
  const Json config = Json::parse(written.config_json);
  EXPECT_EQ(config["model_max_length"], 32);
  EXPECT_FALSE(config.contains("eos_token"));
}

TEST(HuggingFaceTokenizer, ListsEachWayToCutATokenInTwoByRank) {
  auto tokens = every_byte();
  for (const char* merged : {"bc", "ab", " ab", "abc", "xyz"}) tokens.emplace_back(merged);
  const auto written = hugging_face_tokenizer(BpeTokenizer(tokens, "ranks"), 8);
  const Json described = Json::parse(written.tokenizer_json);
  EXPECT_EQ(described["model"]["merges"], (Json{"b c", "a b", "\u0120 ab", "a bc", "ab c"}));  // xyz is no two tokens
  EXPECT_EQ(described["model"]["vocab"]["\u0120ab"], 258);
  EXPECT_EQ(described["model"]["vocab"]["xyz"], 260);
  EXPECT_EQ(described["model"]["ignore_merges"], true);
  ASSERT_EQ(described["added_tokens"].size(), 1U);
  EXPECT_EQ(described["added_tokens"][0]["id"], 261);
  EXPECT_EQ(described["added_tokens"][0]["content"], "<|endoftext|>");
  EXPECT_EQ(Json::parse(written.config_json)["eos_token"], "<|endoftext|>");
}

}  // namespace
}  // namespace shoal::hugging_face_tokenizer_test
