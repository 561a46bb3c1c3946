// Orders of a person to the supervisor's core: who is meant, who is told, and what is announced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/cluster/supervisor/supervisor.h"

#include "tests/support/commit_policies.h"

namespace shoal::operator_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// One stage with one replica on node1, storage, and a journal that is only counted.
class OperatorBench {
 public:
  explicit OperatorBench(const SupervisorConfig& config = one_replica()) : core(config) {
    perform(core.begin(now));
    join("storage", ProcessRole::kStorage);
    join("node1", ProcessRole::kNode);
  }
  static SupervisorConfig one_replica() {
    SupervisorConfig config;
    config.run = RunId{9};
    config.term = Term{1};
    config.steps_target = 3;
    config.policy = constant_rate(0.1, 1);
    return config;
  }
  void join(const std::string& name, ProcessRole role) {
    Join join;
    join.name = name;
    join.nonce = ++nonce;
    join.role = role;
    perform(core.hear(join, now));
  }
  void train() {
    const auto order = all<SpawnStage>().at(0);
    perform(core.hear(StageReady{order.stage, order.replica, {}, 0, 5}, now));
  }
  OperatorAnswer kill(const std::string& name, InjectKind how = InjectKind::kKill) {
    OperatorOutcome outcome = core.operate({OperatorVerb::kKill, name, how, 0, "shoal kill"}, now);
    perform(std::move(outcome.effects));
    injections.push_back(outcome.injection);
    return outcome.answer;
  }
  void perform(SupervisorEffects effects) {
    for (SupervisorEffect& effect : effects) {
      if (const auto* append = std::get_if<AppendEntry>(&effect))
        perform(core.appended(core.entry_for(append->body), now));
      if (const auto* reserve = std::get_if<ReserveNumbers>(&effect)) {
        core.reserved(reserve->are_processes, next_number, 200);
        next_number += 200;
      }
      if (const auto* letter = std::get_if<Letter>(&effect)) sent.push_back(*letter);
      if (const auto* here = std::get_if<InjectHere>(&effect)) injected_here.push_back(here->order);
    }
  }
  template <class Body>
  [[nodiscard]] std::vector<Body> all() const {
    std::vector<Body> found;
    for (const Letter& letter : sent) {
      if (const auto* body = std::get_if<Body>(&letter.body)) found.push_back(*body);
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const Target& target : core.targets()) found.push_back(target.name);
    return found;
  }

  Instant now = Instant{} + std::chrono::hours(1);
  SupervisorCore core;
  std::vector<Letter> sent;
  std::vector<Inject> injected_here;
  std::vector<std::uint64_t> injections;
  std::uint64_t next_number = 1;
  std::uint64_t nonce = 0;
};

TEST(Operator, EverythingThatRunsHasAName) {
  OperatorBench bench;
  EXPECT_THAT(bench.names(), Not(Contains("data_loader")));
  bench.train();
  for (const std::string name : {"stage/0/0", "router/node1", "tracer/node1", "node_agent/node1", "node1", "storage",
                                 "router/storage", "tracer/storage", "node_agent/storage", "metrics", "control",
                                 "supervisor", "router/spawner", "tracer/spawner", "data_loader", "sync_group/0"}) {
    EXPECT_THAT(bench.names(), Contains(name));
  }
  EXPECT_THAT(bench.names(), Not(Contains("spawner"))) << "its process ends with the supervisor";
}

TEST(Operator, WhoRunsElsewhereIsToldByALetter) {
  OperatorBench bench;
  bench.train();
  const ReplicaMember member = bench.core.view().replicas_of(StageId{0})[0];
  EXPECT_EQ(bench.kill("stage/0/0").verdict, OperatorVerdict::kDone);
  EXPECT_EQ(bench.kill("node1", InjectKind::kThrow).verdict, OperatorVerdict::kDone);
  const auto orders = bench.all<Inject>();
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].target, to_stage(member.process, member.incarnation));
  EXPECT_EQ(orders[0].how, InjectKind::kKill);
  EXPECT_FALSE(orders[0].whole_process);
  EXPECT_EQ(orders[1].target, to_node_agent(member.process));
  EXPECT_TRUE(orders[1].whole_process);
  EXPECT_TRUE(bench.injected_here.empty());
}

TEST(Operator, WhoRunsHereIsToldAfterTheAnswer) {
  OperatorBench bench;
  bench.train();
  for (const std::string name : {"data_loader", "control", "metrics", "sync_group/0", "supervisor"}) {
    EXPECT_EQ(bench.kill(name).verdict, OperatorVerdict::kDone) << name;
  }
  EXPECT_EQ(bench.injected_here.size(), 5U);
  EXPECT_EQ(bench.injected_here[3].target, to_sync_group(StageId{0}));
  EXPECT_EQ(bench.injected_here[4].target, to_supervisor());
  EXPECT_TRUE(bench.all<Inject>().empty());
}

TEST(Operator, EachInjectionIsAnnouncedByANumberOfItsOwn) {
  OperatorBench bench;
  bench.train();
  (void)bench.kill("stage/0/0");
  (void)bench.kill("metrics");
  ASSERT_NE(bench.injections[0], bench.injections[1]);
  const auto events = bench.all<RunEvent>();
  for (std::size_t index = 0; index < 2; ++index) {
    const std::string number = "#" + std::to_string(bench.injections[index]) + ":";
    EXPECT_EQ(std::count_if(events.begin(), events.end(),
                            [&](const RunEvent& event) {
                              return event.kind == RunEventKind::kInjected && event.reason.starts_with(number);
                            }),
              1);
  }
  EXPECT_EQ(bench.all<Inject>()[0].id, bench.injections[0]);
}

TEST(Operator, AnUnknownNameAndARunThatIsOverAreRefused) {
  OperatorBench bench;
  bench.train();
  const auto unknown = bench.kill("stage/0/1");
  EXPECT_EQ(unknown.verdict, OperatorVerdict::kUnknownName);
  EXPECT_THAT(unknown.text, HasSubstr("did you mean 'stage/0/0'?"));
  bench.perform(bench.core.journal_failed("disk full", 3, bench.now));
  EXPECT_EQ(bench.kill("stage/0/0").verdict, OperatorVerdict::kRefused);
  EXPECT_TRUE(bench.all<Inject>().empty());
}

TEST(Operator, WhoIsLostIsNotThereAndMayComeBack) {
  OperatorBench bench;
  bench.train();
  bench.join("node2", ProcessRole::kNode);
  const ProcessIncarnation spare = bench.all<Welcome>().back().process;
  EXPECT_EQ(bench.kill("node2").verdict, OperatorVerdict::kDone);
  bench.perform(bench.core.gone(spare, "gone", bench.now));
  for (const std::string name : {"node2", "router/node2", "node_agent/node2"}) {
    const OperatorAnswer answer = bench.kill(name);
    EXPECT_EQ(answer.verdict, OperatorVerdict::kAbsent) << name;
    EXPECT_THAT(answer.text, HasSubstr(name + " is not there now"));
  }
  for (const std::string name : {"node3", "router/node3", "metrics/node2", "sync_group/node1"})
    EXPECT_EQ(bench.kill(name).verdict, OperatorVerdict::kUnknownName) << name;
  bench.join("node2", ProcessRole::kNode);
  EXPECT_EQ(bench.kill("node2").verdict, OperatorVerdict::kDone);
}

// Further orders to it would be lost with it.
TEST(Operator, WhoWasToldToEndIsNotThereUntilItIsBack) {
  OperatorBench bench;
  bench.train();
  bench.join("node2", ProcessRole::kNode);
  const ProcessIncarnation first = bench.all<Welcome>().back().process;
  EXPECT_EQ(bench.kill("node2", InjectKind::kExit).verdict, OperatorVerdict::kDone);
  for (const std::string name : {"node2", "router/node2", "tracer/node2", "node_agent/node2"}) {
    const OperatorAnswer answer = bench.kill(name);
    EXPECT_EQ(answer.verdict, OperatorVerdict::kAbsent) << name;
    EXPECT_THAT(answer.text, HasSubstr(name + " is not there now: it was told to end"));
  }
  EXPECT_EQ(bench.kill("node1", InjectKind::kFreeze).verdict, OperatorVerdict::kDone) << "somebody else";
  EXPECT_EQ(bench.kill("node1").verdict, OperatorVerdict::kDone) << "a silence is no end";
  bench.perform(bench.core.gone(first, "gone", bench.now));
  bench.join("node2", ProcessRole::kNode);
  EXPECT_EQ(bench.kill("node2").verdict, OperatorVerdict::kDone);
  EXPECT_EQ(bench.all<Inject>().size(), 4U);
}

TEST(Operator, WhoDoesNotEndIsToldAgain) {
  OperatorBench bench;
  bench.train();
  EXPECT_EQ(bench.kill("stage/0/0").verdict, OperatorVerdict::kDone);
  EXPECT_EQ(bench.kill("stage/0/0").verdict, OperatorVerdict::kAbsent);
  EXPECT_EQ(bench.kill("router/node1").verdict, OperatorVerdict::kDone) << "the control: its process lives";
  bench.now += ToldToEnd::kEndsWithin;
  EXPECT_EQ(bench.kill("stage/0/0").verdict, OperatorVerdict::kDone);
}

TEST(Operator, ASpawnerThatWasToldToEndTakesNoOrdersForItself) {
  OperatorBench bench;
  bench.train();
  EXPECT_EQ(bench.kill("router/spawner", InjectKind::kThrow).verdict, OperatorVerdict::kDone);
  for (const std::string name : {"supervisor", "metrics", "data_loader"})
    EXPECT_EQ(bench.kill(name).verdict, OperatorVerdict::kAbsent) << name;
  EXPECT_EQ(bench.kill("node1").verdict, OperatorVerdict::kDone) << "it is told at once";
}

// An order waits for the next one of that address.
TEST(Operator, OtherActorsMayBeOrderedAsOftenAsOneLikes) {
  OperatorBench bench;
  bench.train();
  for (int times = 0; times < 3; ++times) EXPECT_EQ(bench.kill("tracer/node1").verdict, OperatorVerdict::kDone);
}

TEST(Operator, WhatTheRunHasOnlyWhileItTrainsIsNotThereYet) {
  OperatorBench bench;
  EXPECT_EQ(bench.kill("data_loader").verdict, OperatorVerdict::kAbsent);
  EXPECT_EQ(bench.kill("sync_group/0").verdict, OperatorVerdict::kAbsent);
  EXPECT_EQ(bench.kill("sync_group/1").verdict, OperatorVerdict::kUnknownName) << "one stage";
}

// As after a spawner's restart, which knows of no replica that was lost before.
TEST(Operator, APlaceThatThisTermHasNotFilledYetIsNotThere) {
  SupervisorConfig config = OperatorBench::one_replica();
  config.replicas = 2;
  OperatorBench bench(config);
  EXPECT_EQ(bench.kill("stage/0/1").verdict, OperatorVerdict::kAbsent);
  EXPECT_EQ(bench.kill("stage/0/2").verdict, OperatorVerdict::kUnknownName);
  EXPECT_EQ(bench.kill("stage/1/0").verdict, OperatorVerdict::kUnknownName) << "one stage";
}

// A replica that ended by itself: its successor has no process of another name yet.
TEST(Operator, APlaceOfAStageThatNobodyServesIsNotThere) {
  OperatorBench bench;
  bench.train();
  const ReplicaMember member = bench.core.view().replicas_of(StageId{0})[0];
  bench.perform(bench.core.gone(member.process, "gone", bench.now));
  EXPECT_EQ(bench.kill("stage/0/0").verdict, OperatorVerdict::kAbsent);
  EXPECT_EQ(bench.kill("stage/0/1").verdict, OperatorVerdict::kUnknownName);
}

// Whoever is killed while it starts could have started.
TEST(Operator, EndsOfStartingReplicasThatWereOrderedDoNotEndTheRun) {
  OperatorBench bench;
  for (int times = 0; times < 10; ++times) {
    EXPECT_EQ(bench.kill("stage/0/0", InjectKind::kExit).verdict, OperatorVerdict::kDone);
    const auto order = bench.all<SpawnStage>().back();
    bench.perform(bench.core.hear(StageEnded{order.stage, order.replica, "told to", {}}, bench.now));
  }
  EXPECT_EQ(bench.all<SpawnStage>().size(), 11U) << "started again each time";
  bench.train();
}

TEST(Operator, AReplicaThatCannotStartThreeTimesEndsTheRun) {
  OperatorBench bench;
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(bench.all<SpawnStage>().size(), static_cast<std::size_t>(times) + 1);
    (void)bench.kill("stage/0/0", InjectKind::kFreeze);
    const auto order = bench.all<SpawnStage>().back();
    bench.perform(bench.core.hear(StageEnded{order.stage, order.replica, "no memory", {}}, bench.now));
    bench.now += std::chrono::seconds(1);  // longer than its worker pauses
    bench.perform(bench.core.tick(bench.now));
  }
  EXPECT_EQ(bench.all<SpawnStage>().size(), 3U);
  EXPECT_EQ(bench.core.phase(), SupervisorCore::Phase::kEnding);
}

}  // namespace
}  // namespace shoal::operator_test
