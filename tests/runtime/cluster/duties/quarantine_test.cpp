// The duty that makes an entry of the verdict of PoisonWatch (poison_test.cpp tests the verdict itself).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/quarantine.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::quarantine_test {
namespace {

StageEnded end_over(Incarnation replica, std::uint32_t stage = 0) {
  return {StageId{stage}, replica, "a bug", ComputedMicrobatch{StepId{0}, MicrobatchId{3}}};
}

struct QuarantineDutyTest : testing::Test, DutyBench {
  QuarantineDutyTest() { train(); }
  QuarantineDuty duty{truth};
};

TEST_F(QuarantineDutyTest, OnlySuspectsAfterTheFirstEnd) {
  const Answers answers = duty.on(end_over(replica(0, 0)), now);
  EXPECT_TRUE(entries<Quarantine>(answers).empty());
  EXPECT_EQ(announced(answers), std::vector<std::string>{"microbatch_suspected"});
}

TEST_F(QuarantineDutyTest, AsksForTheEntryAfterTheSecondReplica) {
  (void)duty.on(end_over(replica(0, 0)), now);
  const Answers answers = duty.on(end_over(replica(0, 1)), now);
  ASSERT_EQ(entries<Quarantine>(answers).size(), 1U);
  EXPECT_EQ(entries<Quarantine>(answers)[0].microbatch, MicrobatchId{3});
  EXPECT_EQ(announced(answers), std::vector<std::string>{"microbatch_quarantined"});
}

TEST_F(QuarantineDutyTest, ForgetsASuspicionWithItsStep) {
  (void)duty.on(end_over(replica(0, 0)), now);
  (void)duty.on(commit_of(0), now);
  EXPECT_EQ(announced(duty.on(end_over(replica(0, 1)), now)), std::vector<std::string>{"microbatch_suspected"});
}

TEST_F(QuarantineDutyTest, SaysNothingOfAnEndThatWasNoComputationOrOfARunThatEnds) {
  EXPECT_TRUE(duty.on(StageEnded{StageId{0}, replica(0, 0), "killed"}, now).all().empty());
  truth.phase = RunPhase::kEnding;
  EXPECT_TRUE(duty.on(end_over(replica(0, 0)), now).all().empty());
}

}  // namespace
}  // namespace shoal::quarantine_test
