// The duty that does what a person orders (supervisor/operator_test.cpp tests orders in a whole run).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/operator.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::duties_operator_test {
namespace {

OperatorOrder order_of(OperatorVerb verb, const std::string& name) {
  OperatorOrder order;
  order.verb = verb;
  order.name = name;
  order.reason = "a person";
  return order;
}

struct OperatorDutyTest : testing::Test, DutyBench {
  OperatorDutyTest() { train(); }
  ProcessIncarnation join_device(const std::string& node, std::uint32_t index) {
    return join(node, ProcessRole::kNode, index);
  }
  OperatorDuty duty{truth, numbers};
};

TEST_F(OperatorDutyTest, AnswersAnUnknownNameWithThoseThatThereAre) {
  const Obeyed obeyed = duty.obey(order_of(OperatorVerb::kDrain, "nod1"), now);
  EXPECT_EQ(obeyed.answer.verdict, OperatorVerdict::kUnknownName);
  EXPECT_TRUE(obeyed.answers.all().empty());
}

TEST_F(OperatorDutyTest, RefusesOrdersOnceTheRunIsOver) {
  truth.phase = RunPhase::kEnding;
  EXPECT_EQ(duty.obey(order_of(OperatorVerb::kDrain, "node1"), now).answer.verdict, OperatorVerdict::kRefused);
}

TEST_F(OperatorDutyTest, NumbersAnInjectionAndMakesItOnce) {
  const OperatorOrder order = order_of(OperatorVerb::kKill, "stage/0/0");
  const Obeyed obeyed = duty.obey(order, now);
  EXPECT_NE(obeyed.injection, 0U);
  EXPECT_EQ(sent<Inject>(obeyed.answers).size(), 1U);
  EXPECT_EQ(told<OrderedToEnd>(obeyed.answers).size(), 1U);
  EXPECT_EQ(duty.obey(order, now).answer.verdict, OperatorVerdict::kAbsent) << "it is ending";
}

TEST_F(OperatorDutyTest, SaysWhatBecomesOfADrainedNode) {
  const Obeyed obeyed = duty.obey(order_of(OperatorVerb::kDrain, "node1"), now);
  EXPECT_EQ(obeyed.answer.text, "node1 leaves after step 0");
  EXPECT_EQ(told<DrainAsked>(obeyed.answers).size(), 1U);
}

TEST_F(OperatorDutyTest, PutsOutANodeBeforeItIsGivenUp) {
  const Obeyed obeyed = duty.obey(order_of(OperatorVerb::kEvict, "node1"), now);
  EXPECT_EQ(obeyed.answer.verdict, OperatorVerdict::kDone);
  ASSERT_EQ(sent<EndProcess>(obeyed.answers).size(), 1U);
  EXPECT_TRUE(sent<EndProcess>(obeyed.answers)[0].storage_waits) << "its last lines belong to the run";
  EXPECT_LT(place_of<PutOut>(obeyed.answers), place_of<GivenUp>(obeyed.answers));
  EXPECT_EQ(obeyed.answer.text.find("it was the last"), std::string::npos);
}

TEST_F(OperatorDutyTest, SaysWhichStageAnEvictedNodeWasTheLastOf) {
  truth.roster.ended.insert(replica(0, 1));
  const Obeyed obeyed = duty.obey(order_of(OperatorVerb::kEvict, "node1"), now);
  EXPECT_NE(obeyed.answer.text.find("it was the last to serve stage 0"), std::string::npos);
}

TEST_F(OperatorDutyTest, EvictsANodeWithAllOfItsDevicesOrNotAtAll) {
  join_device("node1", 1);
  const Obeyed one_device = duty.obey(order_of(OperatorVerb::kEvict, "node1:1"), now);
  EXPECT_EQ(one_device.answer.verdict, OperatorVerdict::kUnknownName);
  EXPECT_NE(one_device.answer.text.find("a node is evicted with all of its devices, by its name: node1"),
            std::string::npos)
      << one_device.answer.text;
  EXPECT_TRUE(one_device.answers.all().empty());
  EXPECT_EQ(told<GivenUp>(duty.obey(order_of(OperatorVerb::kEvict, "node1"), now).answers).size(), 2U);
}

TEST_F(OperatorDutyTest, DrainsANodeWithAllOfItsDevicesAndADeviceAlone) {
  const ProcessIncarnation second = join_device("node1", 1);
  const auto one = told<DrainAsked>(duty.obey(order_of(OperatorVerb::kDrain, "node1:1"), now).answers);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].process, second);
  const Obeyed node = duty.obey(order_of(OperatorVerb::kDrain, "node1"), now);
  const auto asked_all = told<DrainAsked>(node.answers);
  ASSERT_EQ(asked_all.size(), 2U);
  EXPECT_EQ(asked_all[0].process, process(0, 0));
  EXPECT_EQ(asked_all[1].process, second);
  EXPECT_EQ(node.answer.text, "node1 leaves after step 0; node1:1 served nothing and leaves");
  EXPECT_EQ(told<DrainAsked>(duty.obey(order_of(OperatorVerb::kDrain, "stage/0/0"), now).answers).size(), 1U);
}

TEST_F(OperatorDutyTest, DrainsTheDevicesOfANodeThatAreBeingStartedAgain) {
  const ProcessIncarnation second = join_device("node1", 1);
  truth.roster.processes.lose(second);
  const Obeyed node = duty.obey(order_of(OperatorVerb::kDrain, "node1"), now);
  EXPECT_EQ(told<DrainAsked>(node.answers).size(), 1U);
  const auto expected = told<DrainExpected>(node.answers);
  ASSERT_EQ(expected.size(), 1U);
  EXPECT_EQ(expected[0].name, "node1:1");
  EXPECT_EQ(node.answer.text, "node1 leaves after step 0; node1:1 was lost, and leaves if it comes back");
  truth.roster.processes.leave(second);
  EXPECT_TRUE(told<DrainExpected>(duty.obey(order_of(OperatorVerb::kDrain, "node1"), now).answers).empty())
      << "whoever left is not started again";
  truth.roster.processes.lose(process(0, 0));
  EXPECT_EQ(duty.obey(order_of(OperatorVerb::kDrain, "node1"), now).answer.verdict, OperatorVerdict::kAbsent)
      << "nobody is there who could tell whether it comes back: it is asked again";
}

TEST_F(OperatorDutyTest, DrainsADeviceThatIsBeingStartedAgainWhileItsNodeIsThere) {
  const ProcessIncarnation second = join_device("node1", 1);
  truth.roster.processes.lose(second);
  const Obeyed device = duty.obey(order_of(OperatorVerb::kDrain, "node1:1"), now);
  EXPECT_EQ(device.answer.verdict, OperatorVerdict::kDone) << device.answer.text;
  EXPECT_EQ(device.answer.text, "node1:1 was lost, and leaves if it comes back");
  ASSERT_EQ(told<DrainExpected>(device.answers).size(), 1U);
  EXPECT_EQ(told<DrainExpected>(device.answers)[0].name, "node1:1");
  EXPECT_TRUE(told<DrainAsked>(device.answers).empty()) << "the node's other device stays";
}

TEST_F(OperatorDutyTest, SaysThatADrainedNodeHasLeft) {
  truth.roster.processes.leave(process(0, 0));
  truth.roster.processes.lose(process(0, 0), "drained");
  const Obeyed drained = duty.obey(order_of(OperatorVerb::kDrain, "node1"), now);
  EXPECT_EQ(drained.answer.verdict, OperatorVerdict::kDone);
  EXPECT_EQ(drained.answer.text, "node1 is out already: it left");
  EXPECT_TRUE(drained.answers.all().empty());
  for (const std::string name : {"node1", "router/node1", "node_agent/node1"}) {
    const Obeyed killed = duty.obey(order_of(OperatorVerb::kKill, name), now);
    EXPECT_EQ(killed.answer.verdict, OperatorVerdict::kRefused) << name << ": it is of no use to ask again";
    EXPECT_NE(killed.answer.text.find(name + " is not there: it left, and nobody starts it again"), std::string::npos)
        << killed.answer.text;
  }
  const Obeyed evicted = duty.obey(order_of(OperatorVerb::kEvict, "node1"), now);
  EXPECT_EQ(evicted.answer.verdict, OperatorVerdict::kDone);
  EXPECT_EQ(evicted.answer.text.find("node1 is out of the run already: it left; start it as before"), 0U)
      << evicted.answer.text;
  truth.roster.processes.evict(process(1, 0));
  truth.roster.processes.lose(process(1, 0), "evicted");
  EXPECT_EQ(duty.obey(order_of(OperatorVerb::kDrain, "node2"), now).answer.text,
            "node2 is out already: it was evicted");
  join("node1");
  EXPECT_EQ(told<DrainAsked>(duty.obey(order_of(OperatorVerb::kDrain, "node1"), now).answers).size(), 1U)
      << "a person has started it again";
}

// Its keeper before it had a second device.
TEST_F(OperatorDutyTest, ANodeThatAPersonStartedAgainWithFewerDevicesComesBack) {
  const ProcessIncarnation second = join_device("node1", 1);
  for (const ProcessIncarnation device : {process(0, 0), second}) {
    truth.roster.processes.evict(device);
    truth.roster.processes.lose(device, "evicted");
  }
  ASSERT_EQ(duty.obey(order_of(OperatorVerb::kDrain, "node1"), now).answer.verdict, OperatorVerdict::kDone);
  started_by = 7;
  truth.roster.processes.lose(join("node1"));
  for (const OperatorVerb verb : {OperatorVerb::kKill, OperatorVerb::kDrain}) {
    EXPECT_EQ(duty.obey(order_of(verb, "node1"), now).answer.verdict, OperatorVerdict::kAbsent) << "it is asked again";
  }
}

// The control: a keeper starts one of them again.
TEST_F(OperatorDutyTest, ANodeOfWhichADeviceWasLostHasNotLeft) {
  const ProcessIncarnation second = join_device("node1", 1);
  truth.roster.processes.leave(process(0, 0));
  truth.roster.processes.lose(process(0, 0));
  truth.roster.processes.lose(second);
  EXPECT_EQ(duty.obey(order_of(OperatorVerb::kKill, "node1"), now).answer.verdict, OperatorVerdict::kAbsent);
}

TEST_F(OperatorDutyTest, CountsOnNoDeviceOfADrainedNodeForItsStage) {
  truth.roster.ended.insert(replica(0, 1));
  const ProcessIncarnation second = join_device("node1", 1);
  record(AddReplica{StageId{0}, ReplicaId{2}, Incarnation{99}, second, 0});
  EXPECT_EQ(duty.obey(order_of(OperatorVerb::kDrain, "node1:1"), now).answer.text, "node1:1 leaves after step 0");
  const std::string text = duty.obey(order_of(OperatorVerb::kDrain, "node1"), now).answer.text;
  EXPECT_NE(text.find("node1 is the last to serve stage 0"), std::string::npos) << text;
  EXPECT_NE(text.find("node1:1 is the last to serve stage 0"), std::string::npos) << text;
}

TEST_F(OperatorDutyTest, KillsANodeWithAllOfItsDevicesByOneInjection) {
  const ProcessIncarnation second = join_device("node1", 1);
  EXPECT_EQ(sent<Inject>(duty.obey(order_of(OperatorVerb::kKill, "node1:1"), now).answers).size(), 1U);
  const auto rest = sent<Inject>(duty.obey(order_of(OperatorVerb::kKill, "node1"), now).answers);
  ASSERT_EQ(rest.size(), 1U) << "the other one is ending";
  EXPECT_EQ(rest[0].target.process, process(0, 0));
  now += std::chrono::seconds(6);
  const Obeyed both = duty.obey(order_of(OperatorVerb::kKill, "node1"), now);
  const auto orders = sent<Inject>(both.answers);
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[1].target.process, second);
  EXPECT_EQ(orders[0].id, orders[1].id);
  EXPECT_EQ(announced(both.answers), std::vector<std::string>{"injected"});
}

TEST_F(OperatorDutyTest, TellsThePersonWhyNothingIsTrained) {
  truth.phase = RunPhase::kGathering;
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty()) << "most waits are short";
  now += std::chrono::seconds(5);
  EXPECT_EQ(asked<TellPerson>(duty.on(TickCame{}, now)).size(), 1U);
}

TEST_F(OperatorDutyTest, SaysWhyAReplicaEndedLast) {
  EXPECT_EQ(duty.explain_last_end(now), "");
  EXPECT_TRUE(duty.on(StageEnded{StageId{1}, replica(1, 0), "the device hangs"}, now).all().empty());
  now += std::chrono::seconds(12);
  EXPECT_EQ(duty.explain_last_end(now), "; stage/1 ended 12 s ago: the device hangs");
  static_cast<void>(duty.on(StageEnded{StageId{1}, replica(1, 0), "its process crashed"}, now));
  static_cast<void>(duty.on(StageEnded{StageId{0}, Incarnation{999}, "it never served"}, now));
  EXPECT_EQ(duty.explain_last_end(now), "; stage/1 ended 12 s ago: the device hangs");
  now += std::chrono::minutes(10);
  EXPECT_EQ(duty.explain_last_end(now), "") << "it is over";
}

}  // namespace
}  // namespace shoal::duties_operator_test
