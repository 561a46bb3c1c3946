// A wish for a checkpoint and its answer come through as they were said; what else is said is refused by name.
#include "runtime/cluster/operate/save_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::save_words_test {
namespace {

using testing::HasSubstr;

TEST(SaveWords, CarryARequestWithItsGoalOrWithout) {
  const auto first = parse_save_request(save_request_text({"shoal checkpoint", std::nullopt}));
  ASSERT_TRUE(first.ok()) << first.failure().message;
  EXPECT_EQ(first->reason, "shoal checkpoint");
  EXPECT_FALSE(first->goal);
  const SaveGoal goal{7, Branch{2}};
  const auto again = parse_save_request(save_request_text({"shoal checkpoint", goal}));
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(again->goal, goal);
}

TEST(SaveWords, CarryAnAnswer) {
  for (const SaveStage stage : {SaveStage::kOrdered, SaveStage::kSaved, SaveStage::kFailed}) {
    const auto answer =
        parse_save_answer(save_answer_text({OperatorVerdict::kDone, {7, Branch{2}}, stage, "a sentence"}));
    ASSERT_TRUE(answer.ok()) << answer.failure().message;
    EXPECT_EQ(answer->stage, stage);
    EXPECT_EQ(answer->goal, (SaveGoal{7, Branch{2}}));
    EXPECT_EQ(answer->text, "a sentence");
  }
}

TEST(SaveWords, RefuseWhatIsNoRequest) {
  EXPECT_EQ(parse_save_request("[").failure().error, Error::kUsage);
  EXPECT_THAT(parse_save_request("{}").failure().message, HasSubstr("'reason'"));
  EXPECT_THAT(parse_save_request(R"({"reason": 1})").failure().message, HasSubstr("'reason'"));
  EXPECT_THAT(parse_save_request(R"({"reason": "x", "step": 1})").failure().message, HasSubstr("go together"));
  EXPECT_FALSE(parse_save_request(R"({"reason": "x", "step": -1, "branch": 0})").ok());
  EXPECT_FALSE(parse_save_request(R"({"reason": "x", "step": 1, "branch": 4294967296})").ok());
  EXPECT_TRUE(parse_save_request(save_request_text({std::string(200, 'x'), {}})).ok());
  EXPECT_FALSE(parse_save_request(save_request_text({std::string(201, 'x'), {}})).ok());
}

TEST(SaveWords, RefuseWhatIsNoAnswer) {
  EXPECT_FALSE(parse_save_answer("7").ok());
  EXPECT_FALSE(parse_save_answer(R"({"checkpoint": "lost", "step": 1, "branch": 0, "text": ""})").ok());
  EXPECT_FALSE(parse_save_answer(R"({"checkpoint": "saved", "branch": 0, "text": ""})").ok());
}

}  // namespace
}  // namespace shoal::save_words_test
