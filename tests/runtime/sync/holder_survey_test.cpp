// Tests what a data loader is told of who holds what.
#include "runtime/sync/holder_survey.h"

#include <gtest/gtest.h>

namespace shoal::holder_survey_test {
namespace {

constexpr std::uint32_t kMicrobatches = 8;

constexpr Incarnation kOne{11}, kOther{12};

Manifest manifest_of(Incarnation member, std::uint32_t microbatch) {
  return Manifest{{}, member, {{MicrobatchId{microbatch}, 10, 0, {}}}, 0};
}

std::vector<Holder> answer_of(HolderSurvey& survey) {
  survey.ask();
  const auto answer = survey.take_answer(StageId{1}, {}, StepId{3});
  return answer ? answer->holders : std::vector<Holder>{};
}

TEST(HolderSurvey, AnswersAQuestionOnce) {
  HolderSurvey survey;
  EXPECT_FALSE(survey.take_answer(StageId{1}, {}, StepId{3})) << "nobody has asked";
  survey.hear(manifest_of(kOne, 2), kMicrobatches);
  survey.ask();
  const auto answer = survey.take_answer(StageId{1}, {}, StepId{3});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stage, StageId{1});
  EXPECT_EQ(answer->step, StepId{3});
  EXPECT_EQ(answer->holders, (std::vector<Holder>{{MicrobatchId{2}, kOne}}));
  EXPECT_FALSE(survey.take_answer(StageId{1}, {}, StepId{3}));
}

TEST(HolderSurvey, NamesTheNewestHolderThatIsAMember) {
  HolderSurvey survey;
  survey.hear(manifest_of(kOne, 2), kMicrobatches);
  survey.hear(manifest_of(kOther, 2), kMicrobatches);
  survey.hear(manifest_of(kOne, 3), kMicrobatches);
  EXPECT_EQ(answer_of(survey), (std::vector<Holder>{{MicrobatchId{2}, kOther}, {MicrobatchId{3}, kOne}}));
  survey.keep_members([](Incarnation replica) { return replica == kOne; });
  EXPECT_EQ(answer_of(survey), (std::vector<Holder>{{MicrobatchId{3}, kOne}}));
  survey.forget_holders();
  EXPECT_TRUE(answer_of(survey).empty());
}

TEST(HolderSurvey, NamesWhoeverHasItInFlightWhereNobodyHasAnsweredIt) {
  HolderSurvey survey;
  Manifest busy = manifest_of(kOne, 1);
  busy.in_flight = {MicrobatchId{2}, MicrobatchId{3}, MicrobatchId{kMicrobatches}};  // one that is in no plan
  survey.hear(manifest_of(kOther, 2), kMicrobatches);
  survey.hear(busy, kMicrobatches);
  EXPECT_EQ(answer_of(survey),
            (std::vector<Holder>{{MicrobatchId{1}, kOne}, {MicrobatchId{2}, kOther}, {MicrobatchId{3}, kOne}}));
  survey.hear(manifest_of(kOther, 3), kMicrobatches);
  EXPECT_EQ(answer_of(survey).back(), (Holder{MicrobatchId{3}, kOther})) << "answered meanwhile";
}

TEST(HolderSurvey, IsUnderWayUntilItEnds) {
  HolderSurvey survey;
  EXPECT_FALSE(survey.end());
  survey.begin();
  EXPECT_TRUE(survey.is_under_way());
  EXPECT_TRUE(survey.end());
  EXPECT_FALSE(survey.is_under_way());
}

}  // namespace
}  // namespace shoal::holder_survey_test
