// The duty that takes a run over (supervisor_return_test.cpp tests it in a whole run).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/returning.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::returning_test {
namespace {

SupervisorConfig taken_over() {
  SupervisorConfig config = small_run();
  config.return_within = std::chrono::seconds(30);
  return config;
}

// Members of the term before, in the journal alone.
struct ReturnDutyTest : testing::Test, DutyBench {
  ReturnDutyTest() : DutyBench(taken_over()) {
    later.reserved(NumberKind::kProcess, 1001, 1000);
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      record(AddReplica{StageId{stage}, ReplicaId{0}, replica(stage, 0), numbers.take_process(), 0});
    }
  }
  // As gathering lets it in again.
  Join back(std::uint64_t process, std::uint64_t version = 0) {
    Join join;
    join.name = "node" + std::to_string(process);
    join.nonce = process;
    join.previous = ProcessIncarnation{process};
    const std::uint32_t stage = static_cast<std::uint32_t>(process) - 1;
    join.serves = {{StageId{stage}, ReplicaId{0}, replica(stage, 0), truth.view().branch(), version}};
    (void)truth.roster.processes.admit(join, join.previous);
    return join;
  }
  ReservedNumbers later;
  ReturnDuty duty{truth, later};
};

TEST_F(ReturnDutyTest, WaitsForTheMembersOfARunThatIsUnderWay) {
  const Answers answers = duty.on(TermBegins{}, now);
  ASSERT_EQ(told<PhaseBegins>(answers).size(), 1U);
  EXPECT_EQ(told<PhaseBegins>(answers)[0].phase, RunPhase::kReturning);
  EXPECT_EQ(told<ReturnBegins>(answers).size(), 1U);
}

TEST_F(ReturnDutyTest, StartsOverWhereNobodyIsWaitedFor) {
  truth.config.return_within = Duration::zero();
  EXPECT_EQ(told<StartOver>(duty.on(TermBegins{}, now)).size(), 1U);
}

TEST_F(ReturnDutyTest, LooksForAStartWhereAStageHasNoMembers) {
  record(RemoveReplica{StageId{1}, replica(1, 0), "lost"});
  EXPECT_EQ(told<StartWanted>(duty.on(TermBegins{}, now)).size(), 1U);
}

TEST_F(ReturnDutyTest, SaysTheLastWordsOfARunAgain) {
  for (std::uint64_t step = 0; step < 3; ++step) record(commit_of(step));
  record(FinishRun{"done"});
  truth.config.start = {3, 3, true, "abc"};
  EXPECT_EQ(told<EndsAgain>(duty.on(TermBegins{}, now)).size(), 1U);
}

TEST_F(ReturnDutyTest, WelcomesWhoComesBackAndComparesWhatItServes) {
  const Answers answers = duty.on(CameBack{back(1)}, now);
  EXPECT_EQ(sent<Welcome>(answers).size(), 1U);
  EXPECT_LT(place_of<Served>(answers), place_of<ReturnDue>(answers));
}

TEST_F(ReturnDutyTest, TurnsAwayWhoHasSeenStepsThatTheJournalLacks) {
  const Answers answers = duty.on(CameBack{back(1, 5)}, now);
  EXPECT_TRUE(sent<Welcome>(answers).empty());
  EXPECT_EQ(told<GivenUp>(answers).size(), 1U);
}

TEST_F(ReturnDutyTest, GoesOnWhenAllAreBackAndStorageIsThere) {
  truth.phase = RunPhase::kReturning;
  (void)back(1);
  (void)back(2);
  EXPECT_TRUE(duty.on(ReturnDue{}, now).all().empty()) << "there is no storage";
  join("storage1", ProcessRole::kStorage);
  const Answers answers = duty.on(ReturnDue{}, now);
  EXPECT_EQ(told<TrainingBegins>(answers).size(), 1U);
  EXPECT_LT(place_of<MembersDue>(answers), place_of<TrainingBegins>(answers));
}

TEST_F(ReturnDutyTest, RollsBackWhenAStageIsStillMissingInTheEnd) {
  truth.phase = RunPhase::kReturning;
  (void)back(1);
  for (int second = 0; second < 31; ++second) truth.clock.look(now += std::chrono::seconds(1), false);
  EXPECT_EQ(told<RollBack>(duty.on(TickCame{}, now)).size(), 1U);
}

}  // namespace
}  // namespace shoal::returning_test
