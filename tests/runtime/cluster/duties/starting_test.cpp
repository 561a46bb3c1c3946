// The duty that starts the first replicas (starting_replicas_test.cpp tests what is known of them).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/cluster/duties/starting.h"
#include "runtime/cluster/truth/waiting_words.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::starting_test {
namespace {

struct StartingDutyTest : testing::Test, DutyBench {
  void gather(int nodes) {
    for (int node = 1; node <= nodes; ++node) join("node" + std::to_string(node));
  }
  // Places all, and goes on to the phase that begins.
  std::vector<SpawnStage> start() {
    const Answers answers = duty.on(WorkersChanged{}, now);
    for (const PhaseBegins& begins : told<PhaseBegins>(answers)) truth.follow(begins, now);
    return sent<SpawnStage>(answers);
  }
  Answers ready(const SpawnStage& order, std::uint64_t digest = 5) {
    return duty.on(StageReady{order.stage, order.replica, {}, order.version, digest}, now);
  }
  StartingDuty duty{truth, truth.starts, numbers};
};

TEST_F(StartingDutyTest, WaitsForAllPlacesAtTheFirstStart) {
  gather(3);
  EXPECT_TRUE(start().empty());
  join("node4");
  EXPECT_EQ(start().size(), 4U);
  EXPECT_EQ(truth.phase, RunPhase::kSpawning);
}

// After a roll-back one replica of each stage will do when no more workers come; those that are placed then are all
// that is waited for.
TEST_F(StartingDutyTest, WaitsOnceForWorkersThatDoNotComeBack) {
  ASSERT_TRUE(truth.fallback.throw_back("stage 0 lost its last replica", 2));
  truth.follow(PhaseBegins{RunPhase::kGathering}, now);
  gather(3);
  EXPECT_TRUE(start().empty()) << "a fourth may come";
  EXPECT_EQ(explain_waiting(truth, now),
            "waiting for 1 node for stage 1; in 10 s it goes on with fewer replicas, one for each stage at least");
  now += truth.config.gather_within;
  const auto orders = start();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_TRUE(entries<AddReplica>(ready(orders[0])).empty()) << "control: stage 1 has none yet";
  EXPECT_EQ(entries<AddReplica>(ready(orders[1])).size(), 2U) << "at once";
}

// Workers of two sites that do not reach each other, of which each would get all places of one stage. Returns those
// that are told to start.
std::set<ProcessIncarnation> started_of_two_sites(bool was_thrown_back, std::vector<ProcessIncarnation>& workers) {
  DutyBench bench;
  StartingDuty duty{bench.truth, bench.truth.starts, bench.numbers};
  if (was_thrown_back) {
    EXPECT_TRUE(bench.truth.fallback.throw_back("node1 and node2 cannot reach each other", 2));
  }
  bench.truth.follow(PhaseBegins{RunPhase::kGathering}, bench.now);
  for (int node = 1; node <= 4; ++node) workers.push_back(bench.join("node" + std::to_string(node)));
  bench.now += bench.truth.config.gather_within;
  for (const auto& [here, there] : {std::pair{0U, 1U}, {0U, 3U}, {2U, 1U}, {2U, 3U}}) {
    bench.truth.signs.hear(PeerUnreachable{workers[here], workers[there], 3000}, bench.now);
  }
  std::set<ProcessIncarnation> started;
  for (const Letter& letter : asked<Letter>(duty.on(WorkersChanged{}, bench.now))) started.insert(letter.to.process);
  return started;
}

// P-29c.
TEST(StartingDuty, TakesWorkersThatReachEachOtherAfterARollBack) {
  std::vector<ProcessIncarnation> workers;
  const auto started = started_of_two_sites(true, workers);
  EXPECT_EQ(started, (std::set{workers[0], workers[2]}));
  workers.clear();
  EXPECT_EQ(started_of_two_sites(false, workers).size(), 4U) << "the control: a first start needs all of them";
}

// The workers come one after the other: the run begins without the others when no more come for a while.
TEST_F(StartingDutyTest, SharedDevicesStartWithFewerWorkersWhenNoMoreCome) {
  truth.config.share_devices = true;
  const auto watch = [&](Duration time) {
    for (; time > Duration::zero(); time -= std::chrono::milliseconds(500)) {
      truth.clock.look(now += std::chrono::milliseconds(500), false);
    }
  };
  watch(std::chrono::seconds(60));
  gather(1);
  EXPECT_TRUE(start().empty());
  EXPECT_TRUE(
      explain_waiting(truth, now).starts_with("waiting whether more nodes come, or 1 worker will serve all stages"));
  watch(truth.config.share_after - std::chrono::milliseconds(500));
  join("node2");
  EXPECT_TRUE(start().empty()) << "one more came";
  watch(truth.config.share_after);
  const Answers answers = duty.on(TickCame{}, now);
  const auto orders = sent<SpawnStage>(answers);
  ASSERT_EQ(orders.size(), 4U);
  for (const PhaseBegins& begins : told<PhaseBegins>(answers)) truth.follow(begins, now);
  EXPECT_EQ(explain_waiting(truth, now), "starting replicas: 0 of 4 are ready");
  Answers last;
  for (const SpawnStage& order : orders) last = ready(order);
  const auto added = entries<AddReplica>(last);
  ASSERT_EQ(added.size(), 4U);
  EXPECT_EQ(added[0].process, added[1].process) << "both stages of a slot";
  EXPECT_NE(added[0].process, added[2].process) << "no stage twice";
}

TEST_F(StartingDutyTest, SharedDevicesAreNoneThatTheSumOfTheirStagesDoesNotFit) {
  truth.config.share_devices = true;
  truth.config.needs = {{1, 4'000'000'000}, {1, 4'000'000'000}};
  const auto wait = [&] {
    for (int tick = 0; tick < 200; ++tick) truth.clock.look(now += std::chrono::milliseconds(500), false);
    return duty.on(TickCame{}, now);
  };
  join("node1", ProcessRole::kNode, 0, 6'000'000'000);
  const Answers refused = wait();
  EXPECT_TRUE(sent<SpawnStage>(refused).empty()) << "each alone would fit";
  EXPECT_EQ(announced(refused), (std::vector<std::string>{"stage_does_not_fit"}));
  EXPECT_NE(explain_waiting(truth, now).find("one replica of each needs 8.0 GB"), std::string::npos)
      << explain_waiting(truth, now);
  join("node2", ProcessRole::kNode, 0, 5'000'000'000);
  EXPECT_EQ(sent<SpawnStage>(wait()).size(), 2U) << "one replica of each stage, though two are wanted";
  std::set<ProcessIncarnation> serve;
  for (const StartingReplica& one : truth.starts.replicas.all()) serve.insert(one.process);
  EXPECT_EQ(serve.size(), 2U);
}

TEST_F(StartingDutyTest, SharedDevicesTakeThePlaceOfAWorkerThatIsLostBeforeItServes) {
  truth.config.share_devices = true;
  truth.config.replicas = 1;
  gather(2);
  EXPECT_EQ(start().size(), 2U);
  truth.roster.processes.lose(ProcessIncarnation{1});
  (void)duty.on(ProcessGone{ProcessIncarnation{1}, "node1", ProcessRole::kNode, "lost"}, now);
  EXPECT_TRUE(start().empty()) << "it may come back";
  for (int second = 0; second < 12; ++second) truth.clock.look(now += std::chrono::milliseconds(500), false);
  const auto orders = sent<SpawnStage>(duty.on(TickCame{}, now));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].stage, StageId{0});
}

TEST_F(StartingDutyTest, AWorkerThatServesAnotherStageIsNotEndedForAReplicaThatEndsAgainAndAgain) {
  train();
  const auto ends_of = [&](ProcessIncarnation worker) {
    std::size_t ends = 0;
    for (std::size_t time = 0; time <= truth.config.restart_budget; ++time) {
      ends += sent<EndProcess>(duty.on(ReplicaFailed{worker, "no memory"}, now)).size();
    }
    return ends;
  };
  EXPECT_EQ(ends_of(process(0, 0)), 0U) << "it serves";
  EXPECT_EQ(ends_of(join("node9")), 1U);
}

TEST_F(StartingDutyTest, PlacesNothingOnGPUsWhoseMachineDoesNotHoldWhatTheyWouldServeAndSaysSo) {
  truth.config.replicas = 1;
  truth.config.needs = needs_of_hosts({6'000, 5'000});
  for (std::uint32_t device = 0; device < 3; ++device) join_on_gpu("big", device, 9'000);
  EXPECT_EQ(announced(duty.on(WorkersChanged{}, now)), (std::vector<std::string>{"stage_does_not_fit"}));
  EXPECT_NE(explain_waiting(truth, now)
                .find("stage 1 does not fit: a replica of it needs 5.0 kB of host memory, and "
                      "the machines have room for 1 where 2 are needed, 1 for it and 1 for stages that need more (the "
                      "machine of big has 9.0 kB for 3"),
            std::string::npos)
      << explain_waiting(truth, now);
  join_on_gpu("other", 0, 5'000);
  const auto orders = start();
  ASSERT_EQ(orders.size(), 2U);
}

// A worker that takes a place in addition, or that of a lost one, has what other workers on its machine leave.
TEST_F(StartingDutyTest, FillsAPlaceWhereTheMachineHasRoomBesideWhatStartsThere) {
  truth.config.replicas = 1;
  truth.config.needs = needs_of_hosts({6'000, 5'000});
  const ProcessIncarnation first = join_on_gpu("big", 0, 10'000, 7);
  const ProcessIncarnation lost = join_on_gpu("other", 0, 10'000);
  ASSERT_EQ(start().size(), 2U);
  join_on_gpu("beside", 0, 10'000, 7);
  truth.roster.processes.lose(lost);
  (void)duty.on(ProcessGone{lost, "other", ProcessRole::kNode, "lost"}, now);
  EXPECT_TRUE(start().empty()) << "6000 and 5000 on the machine of " << first;
  join_on_gpu("third", 0, 10'000);
  EXPECT_EQ(start().size(), 1U);
}

TEST_F(StartingDutyTest, PlacesNothingWhereAStageDoesNotFitAndSaysSoOnce) {
  truth.config.needs = {{1, 4'000'000'000}, {1, 9'000'000'000}};
  truth.config.config_file = "'/the runs/a/config.toml'";
  for (int node = 1; node <= 4; ++node) join("node" + std::to_string(node), ProcessRole::kNode, 0, 6'000'000'000);
  const Answers answers = duty.on(WorkersChanged{}, now);
  EXPECT_EQ(announced(answers), (std::vector<std::string>{"stage_does_not_fit"}));
  EXPECT_TRUE(announced(duty.on(WorkersChanged{}, now)).empty());
  EXPECT_NE(explain_waiting(truth, now).find("stage 1 does not fit"), std::string::npos) << explain_waiting(truth, now);
  EXPECT_NE(explain_waiting(truth, now).find("`shoal plan '/the runs/a/config.toml' --memory 6.0G`"), std::string::npos)
      << explain_waiting(truth, now);
  for (int node = 5; node <= 6; ++node) join("node" + std::to_string(node), ProcessRole::kNode, 0, 10'000'000'000);
  const auto orders = start();
  ASSERT_EQ(orders.size(), 4U);
  for (const StartingReplica& one : truth.starts.replicas.all()) {
    EXPECT_EQ(one.order.stage.value == 1, one.process.value >= 5) << one.process;
  }
}

TEST_F(StartingDutyTest, LooksForPlacesAgainOnlyWhenWorkersComeOrGo) {
  truth.config.needs = {{1, 4'000'000'000}, {1, 9'000'000'000}};
  for (int node = 1; node <= 4; ++node) join("node" + std::to_string(node), ProcessRole::kNode, 0, 6'000'000'000);
  EXPECT_TRUE(start().empty());
  const std::string why = explain_waiting(truth, now);
  truth.config.needs.clear();  // what looks for places now, would find them
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty());
  EXPECT_EQ(explain_waiting(truth, now), why) << "nor do the words ask";
  join("node5");
  EXPECT_EQ(start().size(), 4U);
  EXPECT_EQ(truth.starts.misfit, "");
}

TEST_F(StartingDutyTest, AddsAllReplicasTogether) {
  gather(4);
  const auto orders = start();
  Answers last;
  for (const SpawnStage& order : orders) {
    EXPECT_TRUE(entries<AddReplica>(last).empty());
    last = ready(order);
  }
  EXPECT_EQ(entries<AddReplica>(last).size(), 4U);
  EXPECT_EQ(told<TrainingBegins>(last).size(), 1U);
}

TEST_F(StartingDutyTest, EndsTheRunOverStatesOfOneStageThatDiffer) {
  gather(4);
  const auto orders = start();
  std::vector<EndOfRun> ends;
  for (std::size_t at = 0; at < orders.size() && ends.empty(); ++at) ends = told<EndOfRun>(ready(orders[at], at));
  EXPECT_EQ(ends.size(), 1U);
}

TEST_F(StartingDutyTest, GivesThePlaceOfWhoeverIsLostToASpare) {
  gather(5);
  const auto orders = start();
  truth.roster.processes.lose(ProcessIncarnation{1});
  (void)duty.on(ProcessGone{ProcessIncarnation{1}, "node1", ProcessRole::kNode, "lost"}, now);
  EXPECT_EQ(start().size(), 1U);
}

TEST_F(StartingDutyTest, LooksForAnotherStateWhenNobodyElseCouldStartOne) {
  gather(4);
  const auto orders = start();
  std::vector<StartFailed> failed;
  for (const SpawnStage& order : orders) {
    if (failed.empty()) failed = told<StartFailed>(duty.on(StageEnded{order.stage, order.replica, "no file"}, now));
  }
  EXPECT_EQ(failed.size(), 1U);
}

// What the others load is not loaded again because of three of many.
TEST_F(StartingDutyTest, AFewNodesThatCannotStartEndTheStartOfNobodyElse) {
  truth.config.replicas = 8;
  gather(16);
  const auto orders = start();
  ASSERT_EQ(orders.size(), 16U);
  std::size_t fallen = 0, failed = 0;
  for (const SpawnStage& order : orders) {
    if (order.stage != StageId{0}) continue;
    failed += told<StartFailed>(duty.on(StageEnded{order.stage, order.replica, "no memory"}, now)).size();
    const bool do_most_try = ++fallen < 4;
    EXPECT_EQ(failed > 0, !do_most_try) << fallen << " of eight have failed";
  }
}

TEST_F(StartingDutyTest, NobodyIsHopelessWhoseStageHasSomebodyThatIsReady) {
  gather(8);
  const auto orders = start();
  ASSERT_EQ(orders.size(), 4U);
  for (const SpawnStage& order : orders) {
    if (order.slot == ReplicaId{0}) (void)ready(order);
  }
  for (int time = 0; time < 4; ++time) {
    const auto& all = truth.starts.replicas.all();
    const auto late = std::ranges::find_if(all, [](const StartingReplica& one) { return !one.ready; });
    ASSERT_NE(late, all.end());
    const StageEnded ended{late->order.stage, late->order.replica, "no memory"};
    EXPECT_TRUE(told<StartFailed>(duty.on(ended, now)).empty()) << time;
    EXPECT_EQ(sent<SpawnStage>(duty.on(WorkersChanged{}, now)).size(), 1U) << "another worker is asked";
  }
}

// One replica of a stage is late, and three times whoever has its place cannot start it. Returns how often that ended
// the start.
struct LastPlace : StartingDutyTest {
  std::size_t fail_three_times() {
    gather(5);
    for (const SpawnStage& order : start()) {
      if (order.stage == StageId{0} || order.slot == ReplicaId{0}) (void)ready(order);
    }
    std::size_t failed = 0;
    for (int time = 0; time < 3; ++time) {
      const auto& all = truth.starts.replicas.all();
      const auto late = std::ranges::find_if(all, [](const StartingReplica& one) { return !one.ready; });
      if (late == all.end() || failed > 0) return 0;
      const StageEnded ended{late->order.stage, late->order.replica, "no memory"};
      failed += told<StartFailed>(duty.on(ended, now)).size();
      (void)start();
    }
    return failed;
  }
};

TEST_F(LastPlace, EndsAFirstStartThatNobodyElseCanComplete) { EXPECT_EQ(fail_three_times(), 1U); }

TEST_F(LastPlace, EndsNoStartThatNeedsOneOfEachStage) {
  truth.config.share_devices = true;
  EXPECT_EQ(fail_three_times(), 0U);
}

TEST_F(StartingDutyTest, ThoseThatCouldNotStartAreAskedLastWhenAllStartAgainFromTheSameState) {
  gather(7);
  const auto orders = start();
  ASSERT_EQ(orders.size(), 4U);
  std::set<ProcessIncarnation> fallen;
  for (std::size_t at = 0; at < 3; ++at) {
    const StartingReplica one = truth.starts.replicas.all().front();
    fallen.insert(one.process);
    (void)duty.on(StageEnded{one.order.stage, one.order.replica, "no memory"}, now);
  }
  for (const bool is_in_vain : {true, false}) {
    (void)duty.on(BranchBegins{}, now);
    truth.follow(PhaseBegins{RunPhase::kGathering}, now);
    (void)duty.on(StartRepeated{is_in_vain}, now);
    ASSERT_EQ(start().size(), 4U);
    bool is_one_asked = false;
    for (const StartingReplica& one : truth.starts.replicas.all()) is_one_asked |= fallen.contains(one.process);
    EXPECT_EQ(is_one_asked, !is_in_vain) << "another state may be loaded where that could not";
  }
}

TEST_F(StartingDutyTest, BlamesNobodyForAnEndThatWasOrdered) {
  gather(4);
  const SpawnStage order = start().front();
  (void)duty.on(OrderedToEnd{order.replica}, now);
  const Answers answers = duty.on(StageEnded{order.stage, order.replica, "killed"}, now);
  EXPECT_TRUE(told<ReplicaFailed>(answers).empty());
  EXPECT_EQ(told<WorkersChanged>(answers).size(), 1U);
}

TEST_F(StartingDutyTest, OrdersAgainOverANewLink) {
  gather(4);
  const auto orders = start();
  const auto again = sent<SpawnStage>(duty.on(LinkedAgain{ProcessIncarnation{1}}, now));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].replica, orders[0].replica) << "under the same number";
}

TEST_F(StartingDutyTest, EndsWhatStartsWhenABranchBegins) {
  gather(4);
  (void)start();
  EXPECT_EQ(sent<EndStage>(duty.on(BranchBegins{}, now)).size(), 4U);
  EXPECT_TRUE(truth.starts.replicas.all().empty());
}

TEST_F(StartingDutyTest, StartsNothingBeforeAPauseIsOver) {
  gather(4);
  (void)duty.on(StartPaused{now + std::chrono::seconds(2)}, now);
  EXPECT_TRUE(start().empty());
  now += std::chrono::seconds(2);
  EXPECT_EQ(start().size(), 4U);
}

TEST_F(StartingDutyTest, HasAProcessStartedAgainOnWhichReplicasEndTooOften) {
  gather(4);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(duty.on(ReplicaFailed{ProcessIncarnation{1}, "a bug"}, now).all().empty());
  }
  const auto ends = sent<EndProcess>(duty.on(ReplicaFailed{ProcessIncarnation{1}, "a bug"}, now));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status, 1U);
}

// A wait for workers of one minute at most.
struct BoundedStart : StartingDutyTest {
  BoundedStart() {
    truth.config.wait_timeout = std::chrono::minutes(1);
    truth.clock.look(now, false);
    (void)duty.on(TermBegins{}, now);
  }
  // Looks every second. Returns the exit status of the run, if that ended it.
  std::optional<int> watch(std::chrono::seconds time) {
    std::optional<int> status;
    for (; time.count() > 0 && !status; --time) status = look_after(std::chrono::seconds(1));
    return status;
  }
  // Looks once after so long.
  std::optional<int> look_after(Duration time) {
    truth.clock.look(now += time, false);
    const Answers answers = duty.on(TickCame{}, now);
    for (const PhaseBegins& begins : told<PhaseBegins>(answers)) truth.follow(begins, now);
    const auto ends = told<EndOfRun>(answers);
    return ends.empty() ? std::nullopt : std::optional(ends[0].exit_status);
  }
  // Members of the term before are waited for longer than a start waits for workers.
  void wait_for_members() {
    truth.follow(PhaseBegins{RunPhase::kReturning}, now);
    EXPECT_FALSE(watch(std::chrono::minutes(2))) << "who returns is waited for by another limit";
    truth.follow(PhaseBegins{RunPhase::kGathering}, now);
  }
};

TEST_F(BoundedStart, GivesTheRunUpWhenTooFewWorkersCome) {
  gather(3);
  EXPECT_FALSE(watch(std::chrono::seconds(59)));
  EXPECT_EQ(watch(std::chrono::seconds(1)), 4);
}

TEST_F(BoundedStart, GivesTheRunUpWhenAWorkerThatDiesWhileReplicasStartIsNotReplaced) {
  gather(4);
  ASSERT_EQ(start().size(), 4U);
  EXPECT_FALSE(watch(std::chrono::minutes(9))) << "a state may take long to come";
  truth.roster.processes.lose(ProcessIncarnation{4});
  (void)duty.on(ProcessGone{ProcessIncarnation{4}, "node4", ProcessRole::kNode, "killed"}, now);
  EXPECT_FALSE(watch(std::chrono::seconds(59))) << "its keeper may start it again";
  EXPECT_EQ(watch(std::chrono::seconds(1)), 4);
}

TEST_F(BoundedStart, CountsAllTimeInWhichWorkersLack) {
  gather(3);
  EXPECT_FALSE(watch(std::chrono::seconds(40)));
  join("node4");
  ASSERT_EQ(start().size(), 4U);
  EXPECT_FALSE(watch(std::chrono::minutes(9)));
  truth.roster.processes.lose(ProcessIncarnation{4});
  (void)duty.on(ProcessGone{ProcessIncarnation{4}, "node4", ProcessRole::kNode, "killed"}, now);
  EXPECT_FALSE(watch(std::chrono::seconds(19)));
  EXPECT_EQ(watch(std::chrono::seconds(1)), 4);
}

// Nobody is lacking while a start is put off, and members of a run that is taken over are.
TEST_F(BoundedStart, LeavesOutAPauseBetweenTwoStartsAndCountsAReturn) {
  gather(3);
  (void)duty.on(StartPaused{now + std::chrono::minutes(2)}, now);
  EXPECT_FALSE(watch(std::chrono::minutes(2) - std::chrono::seconds(1)));
  wait_for_members();
  EXPECT_EQ(watch(std::chrono::seconds(1)), 4);
}

TEST_F(BoundedStart, PlacesThoseThatAreThereHoweverLongMembersWereWaitedFor) {
  gather(4);
  wait_for_members();
  EXPECT_FALSE(watch(std::chrono::seconds(1)));
  EXPECT_EQ(truth.phase, RunPhase::kSpawning);
  EXPECT_FALSE(watch(std::chrono::minutes(9)));
}

TEST_F(BoundedStart, GivesNoRunUpThatGoesOnWithFewerInAMoment) {
  truth.config.return_within = std::chrono::minutes(2);
  record(AddReplica{StageId{0}, ReplicaId{0}, replica(0, 0), ProcessIncarnation{999}, 0});
  for (const int nodes : {1, 2}) {
    join("node" + std::to_string(nodes));
    wait_for_members();
    EXPECT_FALSE(watch(std::chrono::seconds(9)));
    EXPECT_EQ(watch(std::chrono::seconds(1)), nodes == 1 ? std::optional(4) : std::nullopt);
  }
  EXPECT_EQ(truth.phase, RunPhase::kSpawning);
}

TEST_F(BoundedStart, LeavesOutTimeInWhichTheSpawnerWasAway) {
  gather(3);
  EXPECT_FALSE(look_after(std::chrono::hours(1))) << "nobody looked whether a fourth came";
  EXPECT_FALSE(watch(std::chrono::seconds(58)));
  EXPECT_EQ(watch(std::chrono::seconds(1)), 4);
}

TEST_F(BoundedStart, IsBoundedNoMoreOnceTheRunTrains) {
  (void)duty.on(TrainingBegins{}, now);
  truth.follow(PhaseBegins{RunPhase::kGathering}, now);
  EXPECT_FALSE(watch(std::chrono::hours(1)));
}

TEST_F(StartingDutyTest, LeavesReadinessToJoiningWhileTheRunTrains) {
  train();
  EXPECT_EQ(told<ReadyInTraining>(duty.on(StageReady{StageId{0}, Incarnation{99}, {}, 0, 5}, now)).size(), 1U);
}

}  // namespace
}  // namespace shoal::starting_test
