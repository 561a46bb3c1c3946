// The tokenizer of bytes, which tokenizer a name means, and the vocabulary that a configuration gets from it.
#include "runtime/data/tokenizers/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "runtime/base/config_file.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::tokenizer_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ByteTokenizer, GivesBackEveryByte) {
  std::string text(256, '\0');
  std::iota(text.begin(), text.end(), '\0');
  const ByteTokenizer tokenizer;
  const std::vector<std::int32_t> tokens = tokenizer.encode(text);
  ASSERT_EQ(tokens.size(), 256U);
  EXPECT_EQ(tokens[200], 200);  // not the negative number that a signed char is
  EXPECT_EQ(tokenizer.decode(tokens), text);
  EXPECT_EQ(tokenizer.vocabulary_size(), 256);
  EXPECT_EQ(tokenizer.bytes_of(65), "A");
  EXPECT_THROW((void)tokenizer.bytes_of(256), Bug);
  EXPECT_THROW((void)tokenizer.bytes_of(-1), Bug);
}

TEST(MakeTokenizer, TakesBytesOrAFileOfRanks) {
  ASSERT_TRUE(make_tokenizer("bytes").ok());
  const Scratch scratch;
  const auto own = make_tokenizer(scratch.file("own.tiktoken", ranks_text(every_byte())).string());
  ASSERT_TRUE(own.ok()) << own.failure().message;
  EXPECT_EQ((*own)->vocabulary_size(), 257);
}

TEST(MakeTokenizer, SaysWhatCannotBeOne) {
  const Scratch scratch;
  for (const std::string& name : {std::string("gpt3"), std::string(), scratch.path().string()}) {
    const auto refused = make_tokenizer(name);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().error, Error::kUsage);
    EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("\"" + name + "\""), HasSubstr("\"gpt2\"")));
  }
  const auto damaged = make_tokenizer(scratch.file("damaged", "no ranks").string());
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.failure().error, Error::kInvalidData);
  EXPECT_THAT(damaged.failure().message, HasSubstr("line 1"));
}

// The size is looked at before anything is read: a file of many gigabytes is refused at once.
TEST(MakeTokenizer, ReadsNoFileThatIsTooLargeForATokenizer) {
  constexpr std::uint64_t kMost = 128 << 20;
  const Scratch scratch;
  for (const char* name : {"large.json", "large.tiktoken"}) {
    const auto path = scratch.file(name, "");
    std::filesystem::resize_file(path, 64 * kMost);
    EXPECT_THAT(make_tokenizer(path.string()).failure().message, AllOf(HasSubstr(name), HasSubstr("134217728")));
    std::filesystem::resize_file(path, kMost + 1);
    EXPECT_THAT(make_tokenizer(path.string()).failure().message, HasSubstr("134217728"));
  }
  const auto path = scratch.file("most.json", "");
  std::filesystem::resize_file(path, kMost);
  EXPECT_THAT(make_tokenizer(path.string()).failure().message, HasSubstr("it is no JSON"));
}

TEST(MakeTokenizer, ReadsTheRanksOfGpt2FromWhereTheyAreKeptAndBelievesNoOther) {
  const Scratch scratch;
  (void)scratch.file("gpt2.tiktoken", ranks_text(every_byte()));
  const Setting kept("SHOAL_DATA", scratch.path().string());
  const Setting none("SHOAL_CORPORA", (scratch.path() / "absent").string());
  const auto refused = make_tokenizer("gpt2");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
}

TEST(SettleVocabulary, TakesItFromAFileAndHoldsTheConfigurationToIt) {
  const Scratch scratch;
  const std::string path = scratch.file("own.tiktoken", ranks_text(every_byte())).string();
  auto config = load_config({{}, {}, {"data.tokenizer=" + path}});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->model.vocabulary, 0) << "nobody has looked yet";
  ASSERT_TRUE(settle_vocabulary(*config).ok());
  EXPECT_EQ(config->model.vocabulary, 257);
  const auto again = parse_config(write_config(*config), "run.toml");
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(again->model.vocabulary, 257) << "as a node without the file knows it";
  Config padded = *config;
  padded.model.extra_tokens = 7;
  EXPECT_FALSE(settle_vocabulary(padded).ok()) << "257 was written down";
  padded.model.vocabulary = 0;
  ASSERT_TRUE(settle_vocabulary(padded).ok());
  EXPECT_EQ(padded.model.vocabulary, 264);
  std::vector<std::string> more = every_byte();
  more.emplace_back("ab");
  (void)scratch.file("own.tiktoken", ranks_text(more));
  const Status changed = settle_vocabulary(*config);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.failure().error, Error::kInvalidData);
  EXPECT_THAT(changed.failure().message, AllOf(HasSubstr("258"), HasSubstr("257")));
}

TEST(SettleVocabulary, NeedsNoFileForANamedTokenizer) {
  const Setting nowhere("SHOAL_DATA", "/absent");
  auto config = load_config({{}, {}, {"data.tokenizer=gpt2"}});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->model.vocabulary, 50257);
  EXPECT_TRUE(settle_vocabulary(*config).ok());
}

}  // namespace
}  // namespace shoal::tokenizer_test
