// The duty that looks for a start and begins a branch (start_search_test.cpp tests the pauses).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cluster/duties/roll_back.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::roll_back_test {
namespace {

using testing::HasSubstr;

StartPoint after(std::uint64_t version) { return {version, version, true, "abc"}; }

// Returns the reasons of the events.
std::string reasons(const Answers& answers) {
  std::string all;
  for (const DutyAnswer& answer : answers.all()) {
    if (const auto* one = std::get_if<Announcement>(&answer)) all += one->reason + "\n";
  }
  return all;
}

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

// A folder that is away for a moment holds no checkpoint, and no line that tells of one.
TEST_F(RollBackDutyTest, NamesTheNewestCheckpointThatWasSaved) {
  const auto saved = [this] { return asked<FindCheckpoint>(duty.on(StartWanted{FindCheckpoint{7}}, now))[0].saved; };
  truth.config.start = StartPoint{};
  EXPECT_EQ(saved(), std::nullopt) << "the control";
  truth.config.start = after(0);
  EXPECT_EQ(saved(), 0U) << "an imported run";
  truth.checkpoints.begin_from(3, "abc");
  EXPECT_EQ(saved(), 3U);
}

TEST_F(RollBackDutyTest, WaitsForAFolderThatIsAwayAndSaysSoAFewTimes) {
  truth.checkpoints.begin_from(3, "abc");
  (void)duty.on(StartWanted{}, now);
  std::size_t said = 0;
  bool is_looked_for = true;
  for (int second = 0; second < 3600; ++second, now += std::chrono::seconds(1)) {
    is_looked_for = is_looked_for || !asked<FindCheckpoint>(duty.on(TickCame{}, now)).empty();
    if (!std::exchange(is_looked_for, false)) continue;
    const Answers answers = duty.on(StartNotFound{fail(Error::kIo, "it is away")}, now);
    said += announced(answers).size();
    EXPECT_TRUE(told<EndOfRun>(answers).empty());
  }
  EXPECT_EQ(said, 7U) << "not every half minute";
  EXPECT_EQ(truth.search.refusal(), "it is away");
  EXPECT_EQ(told<StartOver>(duty.on(StartFound{after(3)}, now)).size(), 1U);
}

// Only a search that may end without it passes it over.
TEST_F(RollBackDutyTest, SaysWhatBecomesOfASearchThatTakesOlderOnes) {
  for (const bool is_saved : {true, false}) {
    truth.config.start = is_saved ? after(2) : StartPoint{};
    (void)duty.on(StartWanted{}, now);
    (void)duty.on(StartNotFound{fail(Error::kIo, "it is away")}, now);
    now += StartSearch::kPatience;
    const std::string said = reasons(duty.on(StartNotFound{fail(Error::kIo, "it is away")}, now));
    EXPECT_THAT(said, HasSubstr(is_saved ? "otherwise it is waited for" : "it is passed over now"));
    if (!is_saved) continue;
    const std::string said_then = reasons(duty.on(StartNotFound{fail(Error::kIo, "it is away")}, now));
    EXPECT_THAT(said_then, HasSubstr("looked for again in"));
  }
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
