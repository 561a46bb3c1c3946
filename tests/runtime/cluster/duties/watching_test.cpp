// The duty that hears signs of life (signs_of_life_test.cpp tests the judgement).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/watching.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::watching_test {
namespace {

struct WatchDutyTest : testing::Test, DutyBench {
  WatchDutyTest() {
    train();
    for (const ProcessIncarnation process : truth.roster.processes.alive()) {
      (void)duty.on(ProcessJoined{process, {}}, now);
    }
  }
  WatchDuty duty{truth, truth.signs};
};

TEST_F(WatchDutyTest, AnswersAHeartbeat) {
  const auto echoes = sent<HeartbeatEcho>(duty.on(Heartbeat{process(0, 0), 4, 17, {}}, now));
  ASSERT_EQ(echoes.size(), 1U);
  EXPECT_EQ(echoes[0].sent_ns, 17);
}

TEST_F(WatchDutyTest, TellsWhoWasGivenUpAndSpeaks) {
  truth.roster.processes.lose(process(0, 0));
  EXPECT_EQ(sent<EndProcess>(duty.on(Heartbeat{process(0, 0), 4, 17, {}}, now)).size(), 1U);
}

TEST_F(WatchDutyTest, AsksWhetherAnybodyListensBehindABrokenLink) {
  const Answers answers = duty.on(ProcessLost{process(0, 0), "socket closed"}, now);
  EXPECT_EQ(asked<ProbeProcess>(answers).size(), 1U);
  EXPECT_TRUE(told<GivenUp>(answers).empty());
}

TEST_F(WatchDutyTest, GivesUpAtOnceWhoseLinkBreaksWhileTheRunEnds) {
  truth.phase = RunPhase::kEnding;
  const Answers answers = duty.on(ProcessLost{process(0, 0), "socket closed"}, now);
  EXPECT_LT(place_of<GivenUp>(answers), place_of<CommitDue>(answers));
}

TEST_F(WatchDutyTest, GivesUpTheSilentAndThenLooksAtComplaints) {
  Answers answers;
  for (int second = 0; second < 120 && told<GivenUp>(answers).empty(); ++second) {
    now += std::chrono::seconds(1);
    for (std::uint32_t slot = 0; slot < 2; ++slot) (void)duty.on(Heartbeat{process(1, slot), 1, 0, {}}, now);
    answers = duty.on(TickCame{}, now);
  }
  const auto given_up = told<GivenUp>(answers);
  ASSERT_EQ(given_up.size(), 2U);
  EXPECT_EQ(given_up[0].process, process(0, 0));
  EXPECT_LT(place_of<GivenUp>(answers), place_of<ComplaintsDue>(answers));
}

// Otherwise it would join, copy a state and be put out again for as long as the cut lasts.
TEST_F(WatchDutyTest, LetsOneRestThatHadToGoForACut) {
  Answers answers;
  for (int second = 0; second < 9 && told<GivenUp>(answers).empty(); ++second) {
    now += std::chrono::seconds(1);
    (void)duty.on(PeerUnreachable{process(0, 0), process(0, 1), 3000}, now);
    answers = duty.on(ComplaintsDue{}, now);
  }
  ASSERT_EQ(told<GivenUp>(answers).size(), 1U);
  ASSERT_EQ(told<WorkerRests>(answers).size(), 1U);
  EXPECT_EQ(told<WorkerRests>(answers)[0].worker, truth.roster.processes.name_of(told<GivenUp>(answers)[0].process));
  EXPECT_GT(told<WorkerRests>(answers)[0].until, now);
}

TEST_F(WatchDutyTest, WatchesNobodyWhoIsGone) {
  for (const ProcessIncarnation process : truth.roster.processes.alive()) {
    (void)duty.on(ProcessGone{process, "node", ProcessRole::kNode, "lost"}, now);
  }
  for (int second = 0; second < 120; ++second) {
    EXPECT_TRUE(told<GivenUp>(duty.on(TickCame{}, now += std::chrono::seconds(1))).empty());
  }
}

}  // namespace
}  // namespace shoal::watching_test
