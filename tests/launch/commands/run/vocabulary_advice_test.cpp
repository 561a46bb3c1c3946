// Tests that the remedy for a vocabulary that differs names the tokenizer first, and never cuts rows without a word.
#include "launch/commands/run/vocabulary_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::vocabulary_advice_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(VocabularyAdvice, NamesTheModelsOwnTokenizerFirst) {
  const std::string advice = advice_on_vocabulary({256, 0}, 268);
  EXPECT_THAT(advice, HasSubstr("--set data.tokenizer=FILE"));
  EXPECT_THAT(advice, Not(HasSubstr("padding"))) << "nobody pads to 268";
}

TEST(VocabularyAdvice, PaddingIsTheSecondGuess) {
  const std::string advice = advice_on_vocabulary({256, 0}, 320);
  const auto tokenizer = advice.find("data.tokenizer=FILE");
  const auto padding = advice.find("Only if its tokenizer has 256 tokens, the other 64 rows are padding");
  ASSERT_NE(tokenizer, std::string::npos) << advice;
  ASSERT_NE(padding, std::string::npos) << advice;
  EXPECT_LT(tokenizer, padding);
  EXPECT_THAT(advice, HasSubstr("--set model.extra_tokens=64"));
}

TEST(VocabularyAdvice, KnowsThePaddedVocabularyOfGpt2) {
  const std::string advice = advice_on_vocabulary({256, 0}, 50304);
  EXPECT_THAT(advice, HasSubstr("has 50257 tokens, the other 47 rows are padding"));
  EXPECT_THAT(advice, HasSubstr("--set data.tokenizer=gpt2"));
}

TEST(VocabularyAdvice, MendsAWrongNumberOfExtraTokens) {
  EXPECT_EQ(advice_on_vocabulary({151669, 266}, 151936), ". Leave model.extra_tokens out, or set 267");
  EXPECT_THAT(advice_on_vocabulary({151670, 5}, 151669), HasSubstr("data.tokenizer=FILE")) << "no number mends that";
}

TEST(VocabularyAdvice, SaysNothingOfPaddingWhereThereIsNone) {
  for (const int described : {100, 40000, 51456}) {
    EXPECT_THAT(advice_on_vocabulary({256, 0}, described), Not(HasSubstr("padding"))) << described;
  }
}

}  // namespace
}  // namespace shoal::vocabulary_advice_test
