// A process that a person puts out of the run goes at once, whatever it is at, and does not come back by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/restart_policy.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::evict_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Phase = SupervisorCore::Phase;

class Evict : public testing::Test {
 protected:
  Evict() : bench(long_run()) {
    bench.join(99, ProcessRole::kStorage);
    bench.train();
  }
  static SupervisorConfig long_run() {
    SupervisorConfig config = two_by_two();
    config.steps_target = 100;
    return config;
  }
  OperatorAnswer order(const std::string& name, bool revoke = false) {
    OperatorOutcome outcome = bench.core.operate({OperatorVerb::kEvict, name, {}, 0, "shoal evict", revoke}, bench.now);
    bench.perform(std::move(outcome.effects));
    return outcome.answer;
  }
  [[nodiscard]] ProcessIncarnation process_of(const std::string& name) const {
    for (const Peer& peer : bench.all<Peers>().back().peers) {
      if (peer.name == name) return peer.process;
    }
    return {};
  }
  // With what processes were told to end, in order.
  [[nodiscard]] std::vector<std::uint32_t> ends() const {
    std::vector<std::uint32_t> statuses;
    for (const EndProcess& end : bench.all<EndProcess>()) statuses.push_back(end.exit_status);
    return statuses;
  }

  SupervisorBench bench;
};

TEST_F(Evict, ANodeIsOutAtOnceAndTheStepGoesOnWithoutIt) {
  const ReplicaMember victim = bench.core.view().replicas_of(StageId{0})[0];
  const OperatorAnswer answer = order("node1");
  EXPECT_EQ(answer.verdict, OperatorVerdict::kDone);
  EXPECT_EQ(answer.text,
            "node1 is put out of the run; start it as before to let it in again, or refuse it with: shoal evict node1 "
            "--revoke");
  EXPECT_EQ(ends(), std::vector<std::uint32_t>{4});
  EXPECT_THAT(bench.all<EndProcess>()[0].reason, HasSubstr("evicted by shoal evict; a person may start it again"));
  EXPECT_TRUE(bench.has_event(RunEventKind::kEvicted));
  EXPECT_FALSE(bench.has_event(RunEventKind::kProcessLost));
  EXPECT_FALSE(bench.core.view().contains(victim.incarnation));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 1U);
}

TEST_F(Evict, TheLastOfAStageSendsTheRunBackAndThatIsSaid) {
  EXPECT_THAT(order("node1").text, Not(HasSubstr("last to serve")));
  EXPECT_THAT(order("node3").text, HasSubstr("it was the last to serve stage 0"));
  EXPECT_TRUE(bench.has_event(RunEventKind::kStageLost));
}

TEST_F(Evict, AllProcessesOfANodeGo) {
  Join second;
  second.name = "node1";
  second.device_index = 1;
  second.nonce = 77;
  bench.hear(second);
  EXPECT_EQ(order("node1").verdict, OperatorVerdict::kDone);
  EXPECT_EQ(ends(), (std::vector<std::uint32_t>{4, 4}));
}

// Frozen or cut off, it has not heard: whatever it says when it is back is answered by the same.
TEST_F(Evict, WhoWasAwayIsToldWhenItIsBack) {
  const ProcessIncarnation process = process_of("node1");
  const ProcessIncarnation lost = process_of("node2");
  ASSERT_EQ(order("node1").verdict, OperatorVerdict::kDone);
  bench.hear(Heartbeat{process, 1, 0, {}});
  Join again;
  again.name = "node1";
  again.nonce = 1;
  again.previous = process;
  bench.hear(again);
  EXPECT_EQ(ends(), (std::vector<std::uint32_t>{4, 4, 4}));
  bench.lose(lost);
  bench.hear(Heartbeat{lost, 1, 0, {}});
  EXPECT_EQ(ends().back(), static_cast<std::uint32_t>(kRejoinStatus)) << "the control: one that was only lost";
}

TEST_F(Evict, APersonMayStartItAgain) {
  ASSERT_EQ(order("node1").verdict, OperatorVerdict::kDone);
  bench.join(1);
  EXPECT_EQ(ends().size(), 1U) << "a new process of that name is welcome";
  EXPECT_NE(process_of("node1"), ProcessIncarnation{});
}

// A kill that comes before the order to end is all that its keeper hears of.
TEST_F(Evict, WhomItsKeeperStartsAgainIsPutOutAgain) {
  const auto start = [&](std::uint32_t keeper, std::uint32_t number) {
    Join join;
    join.name = "node9";
    join.nonce = nonce_of_start(keeper, number);
    bench.hear(join);
    return process_of("node9");
  };
  ASSERT_NE(start(7, 1), ProcessIncarnation{});
  ASSERT_EQ(order("node9").verdict, OperatorVerdict::kDone);
  for (const std::uint32_t again : {2U, 3U}) {
    EXPECT_EQ(start(7, again), ProcessIncarnation{});
    EXPECT_EQ(ends(), std::vector<std::uint32_t>(again, 4));
  }
  EXPECT_NE(start(8, 1), ProcessIncarnation{}) << "a person has started it again";
  EXPECT_EQ(ends().size(), 3U);
  bench.lose(process_of("node9"));
  EXPECT_NE(start(8, 2), ProcessIncarnation{}) << "that one's keeper, which nobody has told to end, may";
}

TEST_F(Evict, WhoIsOutAlreadyIsSaidToBeOut) {
  ASSERT_EQ(order("node1").verdict, OperatorVerdict::kDone);
  const std::size_t told = ends().size();
  const OperatorAnswer again = order("node1");
  EXPECT_EQ(again.verdict, OperatorVerdict::kDone);
  EXPECT_EQ(again.text,
            "node1 is out of the run already: it was evicted; start it as before to let it in again, or refuse it "
            "with: shoal evict node1 --revoke");
  EXPECT_EQ(order("node1", true).text, "node1 is out of the run already: it was evicted");
  EXPECT_EQ(ends().size(), told) << "nobody is left to be told";
  bench.join(1);
  EXPECT_THAT(order("node1").text, HasSubstr("node1 is put out of the run")) << "it was started again";
}

TEST_F(Evict, OnlyNodesCanBeEvicted) {
  for (const std::string name : {"storage99", "storage", "spawner", "stage/0/0", "node9"}) {
    const OperatorAnswer answer = order(name);
    EXPECT_EQ(answer.verdict, OperatorVerdict::kUnknownName) << name;
    EXPECT_THAT(answer.text, HasSubstr("there are: node1 node2 node3 node4")) << name;
  }
  bench.lose(process_of("node2"));
  EXPECT_EQ(order("node2").verdict, OperatorVerdict::kAbsent) << "it may come back";
}

TEST_F(Evict, WhoIsRefusedIsToldToEverybodyAndToWhoeverJoins) {
  const Revocations list{7, {{"node2", {"cc"}}}};
  bench.hear(list);
  const auto told = bench.all<Revocations>();
  EXPECT_EQ(told.size(), 5U) << "four nodes and storage";
  for (const Revocations& one : told) EXPECT_EQ(one, list);
  bench.join(6);
  EXPECT_EQ(bench.all<Revocations>().size(), 6U);
  bench.beat(12);
  EXPECT_GE(bench.all<Revocations>().size(), 12U) << "again, with the peers";
}

TEST_F(Evict, WhereNobodyIsRefusedNothingIsSaid) {
  bench.join(6);
  bench.beat(12);
  EXPECT_TRUE(bench.all<Revocations>().empty());
}

}  // namespace
}  // namespace shoal::evict_test
