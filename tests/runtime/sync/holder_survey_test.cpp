// Tests what a data loader is told of who holds what, and how a sync group finds it out (P-14a).
#include "runtime/sync/holder_survey.h"

#include <gtest/gtest.h>

#include "tests/runtime/sync/sync_group_bench.h"

namespace shoal::holder_survey_test {
namespace {

using std::chrono::seconds;
using test_support::kStage;
using Bench = test_support::SyncGroupBench;

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
  EXPECT_TRUE(survey.end());
  EXPECT_FALSE(survey.end());
}

TEST(SyncGroupSurvey, TellsWhoHoldsWhat) {  // P-14
  Bench bench;
  bench.answered();
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  bench.manifest(11, {0});
  EXPECT_TRUE(bench.all<Holders>().empty());
  bench.manifest(12, {1, 3});
  ASSERT_EQ(bench.all<Holders>().size(), 1U);
  EXPECT_EQ(bench.all<Holders>()[0].holders.size(), 3U);
  bench.read(RemoveReplica{kStage, Incarnation{12}, "lost"});
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  bench.manifest(11, {0});
  ASSERT_EQ(bench.all<Holders>().size(), 1U);
  EXPECT_EQ(bench.all<Holders>()[0].holders, (std::vector<Holder>{{MicrobatchId{0}, Incarnation{11}}}));
}

TEST(SyncGroupSurvey, ASurveyAsksForNothingAndOpensAgain) {  // P-14
  Bench bench;
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  EXPECT_EQ(bench.all<Prepare>().size(), 2U);
  EXPECT_TRUE(bench.all<Holders>().empty());
  bench.manifest(11, {0});
  bench.manifest(12, {3});
  EXPECT_EQ(bench.all<Open>().size(), 2U);
  EXPECT_TRUE(bench.all<Missing>().empty());
  EXPECT_TRUE(bench.all<RunEvent>().empty());
  ASSERT_EQ(bench.all<Holders>().size(), 1U);
  EXPECT_EQ(bench.all<Holders>()[0].holders,
            (std::vector<Holder>{{MicrobatchId{0}, Incarnation{11}}, {MicrobatchId{3}, Incarnation{12}}}));
}

TEST(SyncGroupSurvey, ASurveyThatFindsEverythingReducesAtOnce) {
  Bench bench;
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  bench.manifest(11, {0, 1});
  bench.manifest(12, {2, 3});
  EXPECT_EQ(bench.all<Reduce>().size(), 2U);
  ASSERT_EQ(bench.all<Holders>().size(), 1U);
  EXPECT_EQ(bench.all<Holders>()[0].holders.size(), 4U);
}

// A member answers behind its work, however long that takes.
TEST(SyncGroupSurvey, P14aASurveyWaitsForEveryMemberOfTheView) {
  Bench bench;
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  bench.manifest(11, {0});
  std::size_t repeats = 0;
  for (int minute = 0; minute < 10; ++minute) {
    bench.tick(seconds(60));
    repeats += bench.all<Prepare>().size();
    EXPECT_TRUE(bench.all<Open>().empty());
    EXPECT_TRUE(bench.all<Holders>().empty());
  }
  EXPECT_GT(repeats, 1U) << "it may have been lost";
  bench.manifest(12, {1});
  EXPECT_EQ(bench.all<Open>().size(), 2U);
  EXPECT_EQ(bench.all<Holders>().at(0).holders.size(), 2U);
}

TEST(SyncGroupSurvey, P14aASurveyIsMadeAnewWithThoseWhoAreMembersThen) {
  Bench bench;
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  bench.manifest(11, {0});
  bench.read(RemoveReplica{kStage, Incarnation{12}, "lost"});
  EXPECT_TRUE(bench.all<Open>().empty()) << "who is let go begins another piece of work";
  ASSERT_EQ(bench.all<Prepare>().size(), 1U);
  bench.manifest(11, {0});
  EXPECT_EQ(bench.all<Open>().size(), 1U);
  ASSERT_EQ(bench.all<Holders>().size(), 1U);
  EXPECT_EQ(bench.all<Holders>()[0].holders, (std::vector<Holder>{{MicrobatchId{0}, Incarnation{11}}}));
  bench.add(kStage, 13);
  EXPECT_EQ(bench.all<Open>().size(), 2U) << "the control: nobody waits for an answer";
}

// The data loader asked in the middle of a Prepare that hints had brought about.
TEST(SyncGroupSurvey, P14aWhoAskedIsAnsweredAlsoAfterAChangeOfTheStage) {
  Bench bench;
  bench.answered();
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  bench.read(RemoveReplica{kStage, Incarnation{12}, "lost"});
  EXPECT_EQ(bench.all<Prepare>().size(), 1U);
  bench.manifest(11, {0, 2});
  ASSERT_EQ(bench.all<Holders>().size(), 1U);
  EXPECT_EQ(bench.all<Holders>()[0].holders.size(), 2U);
}

// A microbatch that a Missing asked for can be lost with its replica, or have been answered from before a Zero.
TEST(SyncGroupSurvey, ASurveyAsksAgainForWhatWasAskedForAndIsNotThere) {
  Bench bench;
  bench.answered();
  bench.manifest(11, {0});
  bench.manifest(12, {3});
  bench.hear(AskHolders{kStage, {}, StepId{0}});
  bench.manifest(11, {0});
  bench.manifest(12, {2, 3});
  ASSERT_EQ(bench.all<Missing>().size(), 2U);
  EXPECT_EQ(bench.all<Missing>().at(0).microbatches, (std::vector<MicrobatchId>{{1}}));
}

}  // namespace
}  // namespace shoal::holder_survey_test
