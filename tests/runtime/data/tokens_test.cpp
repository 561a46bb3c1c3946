// The mapped tokens, their split, and what is said of texts that cannot be used.
#include "runtime/data/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <string>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::tokens_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(SplitTokens, RoundsTheValidationPartDown) {
  EXPECT_EQ(split_tokens(4025033, 0.1).train, 4025033U - 402503U);
  EXPECT_EQ(split_tokens(4025033, 0.1).validation, 402503U);
  EXPECT_EQ(split_tokens(19, 0.1).validation, 1U);
  EXPECT_EQ(split_tokens(10, 0).validation, 0U);
  EXPECT_THROW((void)split_tokens(10, 1.1), Bug);
}

TEST(Tokens, AreTheTextsBytes) {
  const Scratch scratch;
  const std::string text = "Call me Ishmael. \xC3\xA9";
  const auto tokens = Tokens::open(scratch.file("text", text), 0.25);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens)->count(), text.size());
  EXPECT_EQ((*tokens)->split().validation, text.size() / 4);
  EXPECT_EQ((*tokens)->corpus_sha256(), sha256_hex(text));
  std::vector<std::int32_t> read(text.size());
  EXPECT_TRUE((*tokens)->read(0, read).ok());
  EXPECT_EQ(read, ByteTokenizer().encode(text));
  std::vector<std::int32_t> end(2);
  EXPECT_TRUE((*tokens)->read(text.size() - 2, end).ok());
  EXPECT_EQ(end, (std::vector<std::int32_t>{0xC3, 0xA9}));
  EXPECT_THROW((void)(*tokens)->read(text.size() - 1, end), Bug);
  EXPECT_THROW((void)(*tokens)->read(~std::uint64_t{0}, end), Bug);
}

void expect_unusable(const std::filesystem::path& path, const std::string& why) {
  const auto tokens = Tokens::open(path, 0.1);
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(exit_code(tokens.failure().error), 3);
  EXPECT_THAT(tokens.failure().message, HasSubstr(path.string()));
  EXPECT_THAT(tokens.failure().message, HasSubstr(why));
}

TEST(Tokens, SayWhyATextCannotBeUsed) {
  const Scratch scratch;
  expect_unusable(scratch.path() / "absent", "No such file");
  expect_unusable(scratch.path(), "folder");
  expect_unusable(scratch.file("empty", ""), "empty");
  ASSERT_EQ(::mkfifo((scratch.path() / "pipe").c_str(), 0600), 0);
  expect_unusable(scratch.path() / "pipe", "not a regular file");
}

// The configuration of a model of bytes.
Config with(const DataConfig& data, int context) {
  Config config;
  config.data = data;
  config.model.context = context;
  return config;
}

TEST(OpenEvaluationText, ValidatesOnAllOfIt) {
  const Scratch scratch;
  const auto tokens = open_evaluation_text(scratch.file("text", "abc"), ByteTokenizer(), 256);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens)->split().train, 0U);
  EXPECT_EQ((*tokens)->split().validation, 3U);
  const auto single = open_evaluation_text(scratch.file("single", "a"), ByteTokenizer(), 256);
  ASSERT_FALSE(single.ok());
  EXPECT_EQ(exit_code(single.failure().error), 3);
}

// `shoal eval --data FILE` names a file, and no key of the configuration.
TEST(OpenEvaluationText, KnowsNothingOfTheCorpusOfARun) {
  const Scratch scratch;
  const auto evaluated = open_evaluation_text(scratch.path() / "absent", ByteTokenizer(), 256);
  ASSERT_FALSE(evaluated.ok());
  EXPECT_THAT(evaluated.failure().message, AllOf(HasSubstr("No such file"), Not(HasSubstr("data.corpus"))));
  DataConfig data;
  data.corpus = scratch.file("empty", "").string();
  const auto trained = open_tokens(with(data, 8));
  ASSERT_FALSE(trained.ok());
  EXPECT_THAT(trained.failure().message, AllOf(HasSubstr("it is empty"), HasSubstr("Set data.corpus")));
}

TEST(OpenTokens, RefusesATextTooShortForItsContext) {
  const Scratch scratch;
  DataConfig data;
  data.validation_fraction = 0.5;
  data.corpus = scratch.file("text", std::string(32, 'a')).string();  // 16 and 16
  EXPECT_TRUE(open_tokens(with(data, 8)).ok());
  const auto long_context = open_tokens(with(data, 9));
  ASSERT_FALSE(long_context.ok());
  EXPECT_EQ(exit_code(long_context.failure().error), 3);
  EXPECT_THAT(long_context.failure().message, HasSubstr("16 training tokens"));
  data.validation_fraction = 0.25;  // 24 and 8
  const auto no_validation = open_tokens(with(data, 8));
  ASSERT_FALSE(no_validation.ok());
  EXPECT_EQ(exit_code(no_validation.failure().error), 3);
  EXPECT_THAT(no_validation.failure().message, HasSubstr("8 validation tokens"));
}

TEST(OpenTokens, RefusesAnUnknownTokenizerAsUsage) {
  DataConfig data;
  data.tokenizer = "gpt3";
  const auto refused = open_tokens(with(data, 8));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(exit_code(refused.failure().error), 2);
}

TEST(OpenTokens, KeepsTheTokensOfAFileOfRanks) {
  const Scratch scratch;
  const Setting kept("SHOAL_DATA", (scratch.path() / "kept").string());
  std::vector<std::string> ranks = every_byte();
  ranks.emplace_back("ab");
  DataConfig data;
  data.validation_fraction = 0.5;
  data.tokenizer = scratch.file("own.tiktoken", ranks_text(ranks)).string();
  std::string text;
  for (int i = 0; i < 16; ++i) text += "abab\n";
  data.corpus = scratch.file("text", text).string();  // three tokens a line: 24 and 24
  const auto tokens = open_tokens(with(data, 12));
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  EXPECT_EQ((*tokens)->count(), 48U);
  std::vector<std::int32_t> read(3);
  EXPECT_TRUE((*tokens)->read(3, read).ok());
  EXPECT_EQ(read, (std::vector<std::int32_t>{256, 256, '\n'}));
  const auto long_context = open_tokens(with(data, 13));
  ASSERT_FALSE(long_context.ok());
  EXPECT_THAT(long_context.failure().message, HasSubstr("24 training tokens"));
  EXPECT_FALSE(std::filesystem::is_empty(scratch.path() / "kept"));
}

}  // namespace
}  // namespace shoal::tokens_test
