// The duty that starts sync groups and the data loader, and escalates when they end too often.
#include <gtest/gtest.h>

#include "runtime/cluster/duties/children.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::children_test {
namespace {

struct ChildrenDutyTest : testing::Test, DutyBench {
  ChildrenDutyTest() { train(); }
  // Its group is in the journal.
  void appoint(const Answers& answers) {
    for (const AppointGroup& entry : entries<AppointGroup>(answers)) record(entry);
  }
  GroupEnded end_of_group(std::uint32_t stage) const {
    return {StageId{stage}, truth.view().members().group_of(StageId{stage}), "a bug"};
  }
  ChildrenDuty duty{truth, numbers};
};

TEST_F(ChildrenDutyTest, AppointsEachGroupBeforeItStarts) {
  const Answers answers = duty.on(TrainingBegins{}, now);
  const auto appointed = entries<AppointGroup>(answers);
  const auto started = asked<StartGroup>(answers);
  ASSERT_EQ(appointed.size(), 2U);
  ASSERT_EQ(started.size(), 2U);
  for (std::size_t stage = 0; stage < 2; ++stage) EXPECT_EQ(appointed[stage].group, started[stage].group);
  EXPECT_EQ(asked<StartDataLoader>(answers).size(), 1U);
  EXPECT_TRUE(asked<AvoidReplicas>(answers).empty());
}

TEST_F(ChildrenDutyTest, TellsANewDataLoaderWhoLeaves) {
  truth.roster.leavers.add(process(1, 0), "node2", "shoal drain");
  const auto avoided = asked<AvoidReplicas>(duty.on(DataLoaderEnded{"a bug"}, now));
  ASSERT_EQ(avoided.size(), 1U);
  EXPECT_EQ(avoided[0].replicas, std::vector{replica(1, 0)});
}

TEST_F(ChildrenDutyTest, StartsAGroupAgainUnderAnotherNumber) {
  appoint(duty.on(TrainingBegins{}, now));
  const GroupEnded ended = end_of_group(1);
  const Answers answers = duty.on(ended, now);
  ASSERT_EQ(asked<StartGroup>(answers).size(), 1U);
  EXPECT_NE(asked<StartGroup>(answers)[0].group, ended.group);
  appoint(answers);
  EXPECT_TRUE(duty.on(ended, now).all().empty()) << "its successor is appointed already";
}

TEST_F(ChildrenDutyTest, HandsOverWhenTheBudgetIsSpent) {
  for (int time = 0; time < 10; ++time) EXPECT_TRUE(told<HandsOver>(duty.on(DataLoaderEnded{"a bug"}, now)).empty());
  const Answers answers = duty.on(DataLoaderEnded{"a bug"}, now);
  EXPECT_EQ(told<HandsOver>(answers).size(), 1U);
  EXPECT_TRUE(asked<StartDataLoader>(answers).empty());
  EXPECT_EQ(announced(answers), (std::vector<std::string>{"restarted", "escalated"}));
}

// Whatever keeps all of them from answering for a moment costs each of them one restart.
TEST_F(ChildrenDutyTest, ManyStagesThatAreStartedAgainTogetherAreNoReasonToHandOver) {
  for (int time = 0; time < 6; ++time) {
    for (const std::uint32_t stage : {0U, 1U}) {
      const Answers answers = duty.on(end_of_group(stage), now);
      EXPECT_TRUE(told<HandsOver>(answers).empty());
      appoint(answers);
    }
    EXPECT_TRUE(told<HandsOver>(duty.on(DataLoaderEnded{"no answer for 1000 ms"}, now)).empty());
  }
}

}  // namespace
}  // namespace shoal::children_test
