// The duty that looks for a start and begins a branch (start_search_test.cpp tests the pauses).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/roll_back.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::roll_back_test {
namespace {

StartPoint after(std::uint64_t version) { return {version, version, true, "abc"}; }

struct RollBackDutyTest : testing::Test, DutyBench {
  RollBackDutyTest() {
    train();
    truth.config.start = after(2);
    (void)duty.on(StartWanted{}, now);
    truth.phase = RunPhase::kRollingBack;
  }
  void begin(const StartPoint& start) { truth.follow(BranchBegins{start}, now); }
  RollBackDuty duty{truth, truth.search};
};

TEST_F(RollBackDutyTest, AsksForTheNewestCheckpoint) {
  const Answers answers = duty.on(StartWanted{FindCheckpoint{7}}, now);
  ASSERT_EQ(asked<FindCheckpoint>(answers).size(), 1U);
  EXPECT_EQ(asked<FindCheckpoint>(answers)[0].not_beyond, 7U);
  EXPECT_EQ(told<PhaseBegins>(answers)[0].phase, RunPhase::kRollingBack);
}

TEST_F(RollBackDutyTest, LooksAgainAfterAPauseWhileTheDiskRefuses) {
  EXPECT_EQ(announced(duty.on(StartNotFound{fail(Error::kIo, "I/O error")}, now)).size(), 1U);
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty());
  now += std::chrono::seconds(1);
  EXPECT_EQ(asked<FindCheckpoint>(duty.on(TickCame{}, now)).size(), 1U);
}

TEST_F(RollBackDutyTest, EndsTheRunWhereNothingIsGood) {
  EXPECT_EQ(told<EndOfRun>(duty.on(StartNotFound{fail(Error::kInvalidData, "all are damaged")}, now)).size(), 1U);
}

TEST_F(RollBackDutyTest, BeginsTheBranchBeforeItSpeaksOfIt) {
  const Answers answers = duty.on(StartOver{after(1)}, now);
  EXPECT_LT(place_of<BranchBegins>(answers), place_of<BranchBegun>(answers));
  begin(after(0));
  const Answers said = duty.on(BranchBegun{}, now);
  EXPECT_EQ(told<PeersChanged>(said).size(), 1U);
  EXPECT_EQ(told<AllLeaversDue>(said).size(), 1U);
}

TEST_F(RollBackDutyTest, EndsAStoppedRunWhereItWouldGoOnFrom) {
  truth.ending.last_step.stop({"SIGTERM", RunEventKind::kStopped, 0});
  begin(after(0));
  EXPECT_EQ(told<EndOfRun>(duty.on(BranchBegun{}, now)).size(), 1U);
}

TEST_F(RollBackDutyTest, TriesOneStateAFewTimesAndPausesBetween) {
  for (int time = 1; time <= 3; ++time) {
    EXPECT_EQ(told<StartWanted>(duty.on(StartFailed{"no replica could start"}, now)).size(), 1U);
    const Answers answers = duty.on(StartFound{after(2)}, now);
    EXPECT_EQ(told<StartOver>(answers).size(), time < 3 ? 1U : 0U);
    EXPECT_EQ(told<EndOfRun>(answers).size(), time < 3 ? 0U : 1U);
    if (time == 3) break;
    truth.phase = RunPhase::kGathering;
    const auto paused = told<StartPaused>(duty.on(StartRepeated{true}, now));
    ASSERT_EQ(paused.size(), 1U);
    EXPECT_EQ(paused[0].until, now + time * std::chrono::seconds(2));
    truth.phase = RunPhase::kRollingBack;
  }
}

TEST_F(RollBackDutyTest, GivesUpWhereThereIsNoCheckpointToBlame) {
  truth.config.start = StartPoint{};
  EXPECT_EQ(told<EndOfRun>(duty.on(StartFailed{"no replica could start"}, now)).size(), 1U);
}

}  // namespace
}  // namespace shoal::roll_back_test
