// The duty that lets replicas join (joining_replicas_test.cpp tests when one is added).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/joining.h"
#include "runtime/cluster/truth/waiting_words.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::joining_test {
namespace {

struct JoinDutyTest : testing::Test, DutyBench {
  // Stage 1 lacks a replica, and a worker is free.
  JoinDutyTest() {
    train();
    record(RemoveReplica{StageId{1}, replica(1, 1), "lost"});
  }
  JoinDuty duty{truth, truth.joins, numbers};
};

TEST_F(JoinDutyTest, StartsACopyOfAMemberOnAFreeWorker) {
  const auto orders = sent<SpawnStage>(duty.on(WorkersChanged{}, now));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].stage, StageId{1});
  EXPECT_EQ(orders[0].donor, replica(1, 0));
  EXPECT_TRUE(duty.on(WorkersChanged{}, now).all().empty()) << "the place is taken";
}

TEST_F(JoinDutyTest, LeavesAWorkerThatFitsNoStageASpareAndSaysSoOnce) {
  truth.config.needs = {{1, 4'000'000'000}, {1, 9'000'000'000}};
  const ProcessIncarnation free = join("small", ProcessRole::kNode, 0, 2'000'000'000);
  truth.roster.processes.lose(process(1, 0));  // only the small one would be free
  for (std::uint64_t other = 1; other < free.value; ++other) truth.roster.processes.lose(ProcessIncarnation{other});
  const Answers answers = duty.on(WorkersChanged{}, now);
  EXPECT_TRUE(sent<SpawnStage>(answers).empty());
  EXPECT_EQ(announced(answers), (std::vector<std::string>{"worker_does_not_fit"}));
  EXPECT_TRUE(announced(duty.on(WorkersChanged{}, now)).empty());
  EXPECT_NE(explain_waiting(truth, now).find("small gives 2.0 GB"), std::string::npos) << explain_waiting(truth, now);
  for (int more = 0; more < 3; ++more) join("tiny" + std::to_string(more), ProcessRole::kNode, 0, 1'000'000'000);
  EXPECT_NE(explain_waiting(truth, now).find("(and 3 more workers)"), std::string::npos) << "as many as there may be";
  EXPECT_EQ(explain_waiting(truth, now).find("tiny0 gives"), std::string::npos) << explain_waiting(truth, now);
}

TEST_F(JoinDutyTest, LeavesAGpuASpareWhileItsMachineServesAllThatItHolds) {
  truth.config.needs = needs_of_hosts({6'000, 5'000});
  for (std::uint64_t other = 1; other <= 4; ++other) {
    if (ProcessIncarnation{other} != process(1, 0)) truth.roster.processes.lose(ProcessIncarnation{other});
  }
  const ProcessIncarnation first = join_on_gpu("big", 0, 10'000, 7);
  record(AddReplica{StageId{0}, ReplicaId{2}, Incarnation{99}, first, 0});
  const ProcessIncarnation second = join_on_gpu("beside", 0, 10'000, 7);  // another node on the machine
  const Answers answers = duty.on(WorkersChanged{}, now);
  EXPECT_TRUE(sent<SpawnStage>(answers).empty());
  EXPECT_TRUE(announced(answers).empty()) << "it would fit if the other one served nothing";
  EXPECT_NE(explain_waiting(truth, now).find("beside: no stage fits beside what its machine serves"), std::string::npos)
      << explain_waiting(truth, now);
  const ProcessIncarnation elsewhere = join_on_gpu("other", 0, 5'000);
  const auto orders = asked<Letter>(duty.on(WorkersChanged{}, now));
  ASSERT_FALSE(orders.empty());
  EXPECT_EQ(truth.joins.joiners().at(0).process, elsewhere);
  EXPECT_NE(elsewhere, second);
}

TEST_F(JoinDutyTest, SaysOnceOfAGpuThatItsMachineHoldsNoStage) {
  truth.config.needs = needs_of_hosts({6'000, 5'000});
  for (std::uint64_t other = 1; other <= 4; ++other) {
    if (ProcessIncarnation{other} != process(1, 0)) truth.roster.processes.lose(ProcessIncarnation{other});
  }
  join_on_gpu("big", 0, 4'000);
  EXPECT_EQ(announced(duty.on(WorkersChanged{}, now)), (std::vector<std::string>{"worker_does_not_fit"}));
  EXPECT_TRUE(announced(duty.on(WorkersChanged{}, now)).empty());
}

TEST_F(JoinDutyTest, LeavesAWorkerASpareWhileItDoesNotReachWhoServes) {
  truth.roster.processes.lose(ProcessIncarnation{4});  // whoever served the place before
  const ProcessIncarnation free = join("back");
  const auto complain = [&] { truth.signs.hear(PeerUnreachable{free, process(0, 1), 3000}, now); };
  complain();
  EXPECT_TRUE(sent<SpawnStage>(duty.on(WorkersChanged{}, now)).empty());
  now += std::chrono::seconds(5);
  EXPECT_EQ(sent<SpawnStage>(duty.on(WorkersChanged{}, now)).size(), 1U) << "the cut is over";
}

TEST_F(JoinDutyTest, StartsNobodyInTheLastStepOrWhenAStageIsLost) {
  truth.ending.last_step.stop({"SIGTERM", RunEventKind::kStopped, 0});
  EXPECT_TRUE(duty.on(WorkersChanged{}, now).all().empty());
}

TEST_F(JoinDutyTest, AddsTheOneWhoseStateIsThatOfAMember) {
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  (void)duty.on(ReadyInTraining{{StageId{1}, replica(1, 0), {}, 0, 5}}, now);
  (void)duty.on(ReadyInTraining{{StageId{1}, order.replica, {}, 0, 5}}, now);
  const Answers answers = duty.on(JoinersDue{}, now);
  ASSERT_EQ(entries<AddReplica>(answers).size(), 1U);
  EXPECT_EQ(entries<AddReplica>(answers)[0].replica, order.replica);
}

TEST_F(JoinDutyTest, RefusesTheOneWhoseStateDiffers) {
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  (void)duty.on(ReadyInTraining{{StageId{1}, replica(1, 0), {}, 0, 5}}, now);
  (void)duty.on(ReadyInTraining{{StageId{1}, order.replica, {}, 0, 6}}, now);
  const Answers answers = duty.on(JoinersDue{}, now);
  EXPECT_TRUE(entries<AddReplica>(answers).empty());
  EXPECT_EQ(sent<EndStage>(answers).size(), 1U);
  EXPECT_EQ(told<ReplicaFailed>(answers).size(), 1U);
}

// P-27a: at the rate at which its state comes the sum of a step would take many steps.
TEST_F(JoinDutyTest, OneThatCannotFollowStaysASpareAndStatusSaysWhy) {
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  const auto pass = [&] { truth.clock.look(now += std::chrono::milliseconds(500), false); };
  double on_its_way_ms = 0;
  const auto arrive = [&](std::uint64_t bytes) {
    pass();
    on_its_way_ms += 500;
    (void)duty.on(
        StateProgress{
            truth.history.branch(), 0, StageId{1}, order.replica, {}, false, bytes, 100'000'000, on_its_way_ms},
        now);
  };
  (void)duty.on(JoinersDue{}, now);
  pass();
  record(commit_of(0));
  (void)duty.on(JoinersDue{}, now);
  for (std::uint64_t part = 1; part <= 24; ++part) arrive(part * 100'000);
  const Answers answers = duty.on(JoinersDue{}, now);
  EXPECT_EQ(announced(answers), (std::vector<std::string>{"join_given_up"}));
  EXPECT_EQ(sent<EndStage>(answers).size(), 1U);
  EXPECT_EQ(told<WorkerRests>(answers).size(), 1U);
  EXPECT_NE(explain_waiting(truth, now).find("stays a spare: its link brings 0.2 MB/s"), std::string::npos)
      << explain_waiting(truth, now);
}

TEST_F(JoinDutyTest, AHoldRunsDownOnceTheVotesAreThere) {  // P-27a
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  (void)duty.on(ReadyInTraining{{StageId{1}, order.replica, {}, 0, 5}}, now);
  record(commit_of(0));
  EXPECT_EQ(announced(duty.on(JoinersDue{}, now)), (std::vector<std::string>{"commit_held"}));
  const auto looks_until_something_is_said = [&] {
    for (int looks = 1; looks < 1000; ++looks) {
      truth.clock.look(now += std::chrono::milliseconds(500), false);
      if (!announced(duty.on(TickCame{}, now)).empty()) return looks;
    }
    return 0;
  };
  EXPECT_EQ(looks_until_something_is_said(), 0) << "the step is under way";
  for (const std::uint32_t stage : {0U, 1U}) EXPECT_FALSE(truth.ballots.hear(vote_of(stage), truth.view()));
  EXPECT_EQ(looks_until_something_is_said(), CommitHolds::kShortest / std::chrono::milliseconds(500));
}

TEST_F(JoinDutyTest, WaitsForNobodyWhoWasNotAsked) {
  const Answers answers = duty.on(ReadyInTraining{{StageId{1}, Incarnation{99}, {}, 0, 5}}, now);
  EXPECT_EQ(told<StrangerReady>(answers).size(), 1U);
  EXPECT_EQ(told<JoinersDue>(answers).size(), 1U);
}

TEST_F(JoinDutyTest, AsksAnotherWhenAJoinerEnds) {
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  const Answers answers = duty.on(StageEnded{StageId{1}, order.replica, "a bug"}, now);
  EXPECT_LT(place_of<ReplicaFailed>(answers), place_of<WorkersChanged>(answers));
  EXPECT_TRUE(truth.joins.joiners().empty());
}

// With shared devices: who had the place, at once; anybody, when no worker came back for long.
TEST_F(JoinDutyTest, AWorkerThatServesTakesAnotherStageWhereDevicesAreShared) {
  truth.roster.processes.lose(ProcessIncarnation{4});
  EXPECT_TRUE(duty.on(WorkersChanged{}, now).all().empty()) << "not unless devices are shared";
  truth.config.share_devices = true;
  EXPECT_TRUE(duty.on(WorkersChanged{}, now).all().empty()) << "it may come back";
  for (Duration time{}; time < truth.config.gather_within; time += std::chrono::milliseconds(500)) {
    truth.clock.look(now += std::chrono::milliseconds(500), false);
  }
  truth.clock.look(now += std::chrono::milliseconds(500), false);
  const Answers answers = duty.on(JoinersDue{}, now);
  const auto orders = sent<SpawnStage>(answers);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].stage, StageId{1});
  EXPECT_NE(truth.joins.joiners().at(0).process, process(1, 0)) << "no stage twice";
}

TEST_F(JoinDutyTest, WhoHadThePlaceTakesItAgainAtOnceWhereDevicesAreShared) {
  truth.config.share_devices = true;
  truth.roster.processes.lose(ProcessIncarnation{4});
  truth.roster.slots[{StageId{1}, ReplicaId{1}}].last_worker = "node3";
  EXPECT_EQ(sent<SpawnStage>(duty.on(WorkersChanged{}, now)).size(), 1U);
  EXPECT_EQ(truth.joins.joiners().at(0).process, process(0, 1));
}

TEST_F(JoinDutyTest, ANewcomerJoinsTheStageThatABusyWorkerIsToGiveUp) {
  truth.config.share_devices = true;
  record(AddReplica{StageId{1}, ReplicaId{1}, Incarnation{99}, process(0, 0), 0});
  truth.roster.processes.lose(ProcessIncarnation{4});
  const ProcessIncarnation newcomer = join("node9");
  const auto orders = sent<SpawnStage>(duty.on(WorkersChanged{}, now));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].stage, StageId{1});
  EXPECT_EQ(truth.joins.joiners().at(0).process, newcomer);
}

TEST_F(JoinDutyTest, EndsJoinersWhenABranchBegins) {
  (void)duty.on(WorkersChanged{}, now);
  EXPECT_EQ(sent<EndStage>(duty.on(BranchBegins{}, now)).size(), 1U);
}

}  // namespace
}  // namespace shoal::joining_test
