// The duty that looks for a start and begins a branch (start_search_test.cpp tests pauses and numbers).
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
    (void)want();
    truth.phase = RunPhase::kRollingBack;
  }
  void begin(const StartPoint& start) { truth.follow(BranchBegins{start}, now); }
  // Remembers the look that is asked for.
  Answers seen(Answers answers) {
    for (const FindCheckpoint& wanted : asked<FindCheckpoint>(answers)) look = wanted.look;
    return answers;
  }
  Answers want(FindCheckpoint wanted = {}) { return seen(duty.on(StartWanted{wanted}, now)); }
  Answers tick() { return seen(duty.on(TickCame{}, now)); }
  [[nodiscard]] bool look_after_the_pause() {
    now += StartSearch::kLongestPause;
    return !asked<FindCheckpoint>(tick()).empty();
  }
  Answers find(const StartPoint& start) { return seen(duty.on(StartFound{look, start}, now)); }
  Answers find_none(Error error, const std::string& why) {
    return seen(duty.on(StartNotFound{look, fail(error, why)}, now));
  }
  RollBackDuty duty{truth, truth.search};
  std::uint64_t look = 0;  // the newest
};

TEST_F(RollBackDutyTest, AsksForTheNewestCheckpoint) {
  const Answers answers = want(FindCheckpoint{7});
  ASSERT_EQ(asked<FindCheckpoint>(answers).size(), 1U);
  EXPECT_EQ(asked<FindCheckpoint>(answers)[0].not_beyond, 7U);
  EXPECT_EQ(told<PhaseBegins>(answers)[0].phase, RunPhase::kRollingBack);
}

// A folder that is away for a moment holds no checkpoint, and no line that tells of one.
TEST_F(RollBackDutyTest, NamesTheNewestCheckpointThatWasSaved) {
  const auto saved = [this] { return asked<FindCheckpoint>(want(FindCheckpoint{7}))[0].saved; };
  truth.config.start = StartPoint{};
  EXPECT_EQ(saved(), std::nullopt) << "the control";
  truth.config.start = after(0);
  EXPECT_EQ(saved(), 0U) << "an imported run";
  truth.checkpoints.begin_from(3, "abc");
  EXPECT_EQ(saved(), 3U);
}

TEST_F(RollBackDutyTest, WaitsForAFolderThatIsAwayAndSaysSoAFewTimes) {
  truth.checkpoints.begin_from(3, "abc");
  (void)want();
  std::size_t said = 0;
  bool is_looked_for = true;
  for (int second = 0; second < 3600; ++second, now += std::chrono::seconds(1)) {
    is_looked_for = is_looked_for || !asked<FindCheckpoint>(tick()).empty();
    if (!std::exchange(is_looked_for, false)) continue;
    const Answers answers = find_none(Error::kIo, "it is away");
    said += announced(answers).size();
    EXPECT_TRUE(told<EndOfRun>(answers).empty());
  }
  EXPECT_EQ(said, 7U) << "not every half minute";
  EXPECT_EQ(truth.search.refusal(), "it is away");
  (void)look_after_the_pause();
  EXPECT_EQ(told<StartOver>(find(after(3))).size(), 1U);
}

// Only a search that may end without it passes it over.
TEST_F(RollBackDutyTest, SaysWhatBecomesOfASearchThatTakesOlderOnes) {
  for (const bool is_saved : {true, false}) {
    truth.config.start = is_saved ? after(2) : StartPoint{};
    (void)want();
    (void)find_none(Error::kIo, "it is away");
    now += StartSearch::kPatience;
    ASSERT_TRUE(look_after_the_pause());
    const std::string said = reasons(find_none(Error::kIo, "it is away"));
    EXPECT_THAT(said, HasSubstr(is_saved ? "otherwise it is waited for" : "it is passed over now"));
    if (!is_saved) continue;
    ASSERT_TRUE(look_after_the_pause());
    const std::string said_then = reasons(find_none(Error::kIo, "it is away"));
    EXPECT_THAT(said_then, HasSubstr("looked for again in"));
  }
}

TEST_F(RollBackDutyTest, LooksAgainAfterAPauseWhileTheDiskRefuses) {
  EXPECT_EQ(announced(find_none(Error::kIo, "I/O error")).size(), 1U);
  EXPECT_TRUE(tick().all().empty());
  now += std::chrono::seconds(1);
  EXPECT_EQ(asked<FindCheckpoint>(tick()).size(), 1U);
}

// Refuses answers to a search that another one took the place of, and an answer that comes a second time.
TEST_F(RollBackDutyTest, TakesNoAnswerThatItDoesNotAwait) {
  const std::uint64_t first = look;
  (void)want();
  EXPECT_TRUE(duty.on(StartFound{first, after(1)}, now).all().empty());
  EXPECT_TRUE(duty.on(StartNotFound{first, fail(Error::kInvalidData, "all are damaged")}, now).all().empty());
  EXPECT_TRUE(duty.on(StartNotFound{first, fail(Error::kIo, "it is away")}, now).all().empty());
  EXPECT_EQ(told<StartOver>(find(after(2))).size(), 1U) << "the control: that one is awaited";
  EXPECT_TRUE(find(after(2)).all().empty()) << "once";
}

TEST_F(RollBackDutyTest, TakesNoAnswerOnceTheRunEnds) {
  truth.phase = RunPhase::kEnding;
  EXPECT_TRUE(find(after(2)).all().empty());
  (void)want();
  EXPECT_TRUE(find_none(Error::kInvalidData, "all are damaged").all().empty());
  EXPECT_TRUE(tick().all().empty());
}

// To read the old one took so long.
TEST_F(RollBackDutyTest, LooksAgainWhereANewerCheckpointWasSavedMeanwhile) {
  for (const bool is_found : {true, false}) {
    truth.checkpoints = CheckpointTracker();
    truth.checkpoints.begin_from(3, "abc");
    (void)want(FindCheckpoint{7});
    truth.checkpoints.saved(5, "newer");
    const std::uint64_t before = look;
    const Answers answers = is_found ? find(after(3)) : find_none(Error::kInvalidData, "all are damaged");
    ASSERT_EQ(asked<FindCheckpoint>(answers).size(), 1U);
    EXPECT_GT(look, before);
    EXPECT_EQ(asked<FindCheckpoint>(answers)[0].saved, 5U);
    EXPECT_EQ(asked<FindCheckpoint>(answers)[0].not_beyond, 7U);
    EXPECT_TRUE(told<StartOver>(answers).empty());
    EXPECT_EQ(told<StartOver>(find(after(3))).size(), 1U) << "once for each: that one may be damaged";
  }
}

TEST_F(RollBackDutyTest, TakesTheCheckpointThatWasSavedWhileItLooked) {
  truth.checkpoints.begin_from(3, "abc");
  (void)want();
  truth.checkpoints.saved(5, "newer");
  EXPECT_EQ(told<StartOver>(find(after(5))).size(), 1U);
}

TEST_F(RollBackDutyTest, ReadsWhatWasSavedInAPause) {
  (void)find_none(Error::kIo, "it is away");
  truth.checkpoints.saved(5, "newer");
  now += StartSearch::kLongestPause;
  const auto looks = asked<FindCheckpoint>(tick());
  ASSERT_EQ(looks.size(), 1U);
  EXPECT_EQ(looks[0].saved, 5U);
}

TEST_F(RollBackDutyTest, SaysOnceThatADiskHangs) {
  now += StartSearch::kSilenceToldAfter - std::chrono::seconds(1);
  EXPECT_TRUE(tick().all().empty());
  now += std::chrono::seconds(1);
  const Answers answers = tick();
  EXPECT_EQ(announced(answers), std::vector<std::string>{"checkpoint_unreadable"});
  EXPECT_THAT(reasons(answers), HasSubstr("for 600 s and more"));
  EXPECT_TRUE(asked<FindCheckpoint>(answers).empty()) << "another look would wait for the same disk";
  now += std::chrono::hours(9);
  EXPECT_TRUE(tick().all().empty());
  EXPECT_EQ(told<StartOver>(find(after(2))).size(), 1U) << "however late";
}

TEST_F(RollBackDutyTest, EndsTheRunWhereNothingIsGood) {
  EXPECT_EQ(told<EndOfRun>(find_none(Error::kInvalidData, "all are damaged")).size(), 1U);
}

TEST_F(RollBackDutyTest, BeginsTheBranchBeforeItSpeaksOfIt) {
  const Answers answers = duty.on(StartOver{after(1)}, now);
  EXPECT_LT(place_of<BranchBegins>(answers), place_of<BranchBegun>(answers));
  begin(after(0));
  const Answers said = duty.on(BranchBegun{}, now);
  EXPECT_EQ(told<PeersChanged>(said).size(), 1U);
  EXPECT_EQ(told<AllLeaversDue>(said).size(), 1U);
}

TEST_F(RollBackDutyTest, EndsAStoppedRunWithoutALookThatMayHang) {
  EXPECT_EQ(asked<FindCheckpoint>(want()).size(), 1U) << "the control";
  truth.ending.last_step.stop({"SIGTERM", RunEventKind::kStopped, 75});
  const Answers answers = want();
  EXPECT_TRUE(asked<FindCheckpoint>(answers).empty());
  ASSERT_EQ(told<EndOfRun>(answers).size(), 1U);
  EXPECT_EQ(told<EndOfRun>(answers)[0].exit_status, 75);
}

TEST_F(RollBackDutyTest, EndsAStoppedRunWhereItWouldGoOnFrom) {
  truth.ending.last_step.stop({"SIGTERM", RunEventKind::kStopped, 0});
  begin(after(0));
  EXPECT_EQ(told<EndOfRun>(duty.on(BranchBegun{}, now)).size(), 1U);
}

TEST_F(RollBackDutyTest, TriesOneStateAFewTimesAndPausesBetween) {
  for (int time = 1; time <= 3; ++time) {
    const auto wanted = told<StartWanted>(duty.on(StartFailed{"no replica could start"}, now));
    ASSERT_EQ(wanted.size(), 1U);
    (void)want(wanted[0].wanted);
    const Answers answers = find(after(2));
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
