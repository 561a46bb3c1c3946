// Tests the simulated swarm: known cases by hand, conservation, and that the pinned defaults say what they are for.
#include "runtime/plan/swarm/swarm_simulation.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/plan/swarm/swarm_comparison.h"
#include "runtime/plan/swarm/swarm_report.h"

namespace shoal::swarm_simulation_test {
namespace {

constexpr double kRate = 80e6;

SwarmMachine machine(double joins_s, double speed = 1) {
  SwarmMachine out;
  out.speed = speed;
  out.down_bit_s = out.up_bit_s = kRate;
  out.joins_s = joins_s;
  return out;
}

SwarmTrace trace_of(std::vector<SwarmMachine> machines, double ends_s) {
  for (std::size_t i = 0; i < machines.size(); ++i) machines[i].name = "m" + std::to_string(i);
  return {std::move(machines), ends_s};
}

SwarmRun run_of(std::size_t stages, std::optional<double> rebalance_s) {
  SwarmRun run;
  run.loads.assign(stages, 1.0);
  run.state_bits = 10 * kRate;  // ten seconds
  run.rule.warm_up_s = 5;
  run.rebalance_s = rebalance_s;
  return run;
}

double value_at(const std::vector<Moment>& moments, double at_s) {
  double value = 0;
  for (const Moment& moment : moments) {
    if (moment.at_s <= at_s) value = moment.value;
  }
  return value;
}

TEST(SwarmSimulation, ANewcomerServesWhenItHasTheState) {
  const auto trace = trace_of({machine(0), machine(0), machine(0), machine(100)}, 200);
  const SwarmRun run = run_of(2, std::nullopt);
  const auto outcome = SwarmSimulation(trace, run).outcome();
  EXPECT_DOUBLE_EQ(value_at(outcome.throughput, 114), 1);
  EXPECT_DOUBLE_EQ(value_at(outcome.throughput, 116), 2);
  EXPECT_DOUBLE_EQ(integral_of(outcome.throughput, 0, 200), 115 * 1 + 85 * 2);
  EXPECT_DOUBLE_EQ(integral_of(optimum_of(trace, run.loads), 0, 200), 100 * 1 + 100 * 2);
}

TEST(SwarmSimulation, APeriodMovesWhoIsTooMuch) {
  auto machines = std::vector(10, machine(0));
  for (const std::size_t gone : {1U, 3U}) machines[gone].leaves_s = 50;  // of stage 1: 5 and 3 are left
  const auto trace = trace_of(machines, 1000);
  const auto outcome = SwarmSimulation(trace, run_of(2, 300.0)).outcome();
  EXPECT_EQ(outcome.moves, 1U);
  EXPECT_DOUBLE_EQ(value_at(outcome.throughput, 314), 3);
  EXPECT_DOUBLE_EQ(value_at(outcome.throughput, 316), 4);
}

TEST(SwarmSimulation, AStageWithOneReplicaDoesNotWaitForThePeriod) {
  auto machines = std::vector(8, machine(0));
  for (const std::size_t gone : {1U, 3U, 5U}) machines[gone].leaves_s = 50;
  const auto trace = trace_of(machines, 1000);
  const SwarmRun run = run_of(2, 300.0);
  const auto outcome = SwarmSimulation(trace, run).outcome();
  EXPECT_DOUBLE_EQ(value_at(outcome.throughput, 64), 1);
  EXPECT_DOUBLE_EQ(value_at(outcome.throughput, 66), 2);
  const auto without = SwarmSimulation(trace, run_of(2, std::nullopt)).outcome();  // negative control
  EXPECT_DOUBLE_EQ(value_at(without.throughput, 999), 1);
  EXPECT_EQ(without.moves, 0U);
}

TEST(SwarmSimulation, AMoverThatLeavesFreesTheNextOne) {
  auto machines = std::vector(12, machine(0));
  for (const std::size_t gone : {1U, 3U, 5U, 7U, 9U}) machines[gone].leaves_s = 50;
  machines[0].leaves_s = 55;  // moves from 50 s on
  const auto trace = trace_of(machines, 1000);
  const auto outcome = SwarmSimulation(trace, run_of(2, 100.0)).outcome();
  EXPECT_DOUBLE_EQ(value_at(outcome.throughput, 900), 3);
}

TEST(SwarmSimulation, GainSendsANewcomerWhereItHelps) {
  const auto trace = trace_of({machine(0, 4), machine(0, 1), machine(0, 4), machine(10, 2)}, 100);
  SwarmRun run = run_of(2, std::nullopt);
  const auto by_count = SwarmSimulation(trace, run).outcome();
  run.newcomers = NewcomerRule::kGain;
  const auto by_gain = SwarmSimulation(trace, run).outcome();
  EXPECT_GE(value_at(by_gain.throughput, 99), value_at(by_count.throughput, 99));
}

TEST(SwarmSimulation, NoPolicyDoesMoreThanTheOptimum) {
  SwarmOrder order;
  order.model = {.nodes = 60, .hours = 6, .speeds = {0.5, 1, 2}, .lifetime_h = 3};
  order.seeds = 3;
  order.rebalance_s = {std::nullopt, 300.0, 20.0};
  const auto comparison = compare(order);
  for (const SwarmPolicyResult& policy : comparison.policies) {
    EXPECT_LE(policy.percent_of_optimal, 100.5);
    for (const Moment& moment : policy.percent) EXPECT_LE(moment.value, 103);
  }
  EXPECT_GT(comparison.policies[1].percent_of_optimal, comparison.policies[0].percent_of_optimal);
  EXPECT_GT(comparison.policies[2].percent_of_optimal, comparison.policies[1].percent_of_optimal);
}

TEST(SwarmSimulation, TheSameSeedGivesTheSameFigures) {
  SwarmOrder order;
  order.model = {.nodes = 100, .hours = 4};
  order.seeds = 2;
  order.rebalance_s = {300.0};
  const std::string json = json_of(compare(order));
  EXPECT_EQ(json_of(compare(order)), json);
  order.seeds = 3;
  EXPECT_NE(json_of(compare(order)), json);
}

// The pinned defaults with a fifth of the machines, so that it takes no time; the whole is in
// launch/experiments/swarm.md.
TEST(SwarmSimulation, RebalancingKeepsWhatNoRebalancingLoses) {
  SwarmOrder order;
  order.model.nodes = 200;
  order.seeds = 5;
  order.rebalance_s = {std::nullopt, 300.0, 60.0};
  const auto comparison = compare(order);
  EXPECT_EQ(comparison.stages, 9U);
  EXPECT_GT(comparison.policies[0].percent_of_optimal, 75);
  EXPECT_LT(comparison.policies[0].percent_of_optimal, 88);
  EXPECT_GE(comparison.policies[1].percent_of_optimal, 97.6);
  EXPECT_GE(comparison.policies[2].percent_of_optimal, 98.5);
}

// The controls of launch/experiments/swarm.md, with a tenth of the machines and hours.
TEST(SwarmSimulation, HysteresisSavesMovesAndCountedCostsSaveThroughput) {
  SwarmOrder order;
  order.model.nodes = 200;
  order.model.hours = 8;
  order.seeds = 3;
  order.rebalance_s = {60.0};
  order.run.speed_error = 0.02;
  order.run.rule.least_gain = 0.03;
  const auto usual = compare(order).policies[0];
  order.run.rule.least_gain = 0;
  EXPECT_GT(compare(order).policies[0].moves, 1.5 * usual.moves);
  order.run = {};
  order.run.state_bits = 4.8e10;
  const auto careful = compare(order).policies[0];
  order.run.rule.horizon_s = std::numeric_limits<double>::infinity();
  EXPECT_LT(compare(order).policies[0].percent_of_optimal, careful.percent_of_optimal - 1);
}

TEST(SwarmSimulation, AMoveThatCostsTooMuchIsNotMade) {
  SwarmOrder order;
  order.model.nodes = 100;
  order.model.hours = 8;
  order.seeds = 2;
  order.rebalance_s = {std::nullopt, 60.0};
  order.run.state_bits = 5e13;  // longer than the trace, over any link
  const auto careful = compare(order);
  EXPECT_EQ(careful.policies[1].moves, 0);
  order.run.rule.horizon_s = 1e12;  // negative control: who ignores the cost moves, for nothing
  const auto ignorant = compare(order);
  EXPECT_GT(ignorant.policies[1].moves, 0);
  EXPECT_LE(ignorant.policies[1].percent_of_optimal, careful.policies[1].percent_of_optimal);
}

TEST(SwarmTrace, IsReadAsItIsWritten) {
  SwarmModel model;
  model.nodes = 20;
  model.hours = 40;
  const SwarmTrace drawn = draw_trace(model, 7);
  const auto read = trace_of_text(text_of(drawn));
  ASSERT_TRUE(read.ok()) << read.failure().message;
  ASSERT_EQ(read->machines.size(), drawn.machines.size());
  for (std::size_t i = 0; i < drawn.machines.size(); ++i) {
    EXPECT_EQ(read->machines[i].name, drawn.machines[i].name);
    EXPECT_EQ(read->machines[i].speed, drawn.machines[i].speed);
    EXPECT_NEAR(read->machines[i].joins_s, drawn.machines[i].joins_s, 1e-3);
  }
}

TEST(SwarmTrace, RefusesWhatIsNone) {
  const std::vector<std::string> broken = {"",
                                           "# nothing\n",
                                           "0 join a 1 100\n",
                                           "0 join a 1 100 0\n5 leave a\n",
                                           "0 join a 1 1 1\n5 stay a\n",
                                           "5 join a 1 1 1\n4 leave a\n",
                                           "0 join a 1 1 1\n1 join a 1 1 1\n",
                                           "3 leave b\n",
                                           "x join a 1 1 1\n"};
  for (const std::string& text : broken) {
    EXPECT_EQ(trace_of_text(text).failure().error, Error::kInvalidData) << text;
  }
  EXPECT_TRUE(trace_of_text("# a\n\n0 join a 1 100 50 # fast\n10 leave a\n").ok());
}

TEST(SwarmReport, JsonHasWhatTheContractNames) {
  SwarmOrder order;
  order.model = {.nodes = 20, .hours = 1};
  order.seeds = 1;
  order.rebalance_s = {std::nullopt, 300.0};
  const auto json = nlohmann::json::parse(json_of(compare(order)));
  EXPECT_EQ(json["policies"][0]["rebalance"], "none");
  EXPECT_EQ(json["policies"][1]["rebalance"], "300");
  EXPECT_GT(json["policies"][1]["percent_of_optimal"].get<double>(), 0);
  EXPECT_EQ(json["policies"][0]["moves"], 0);
  EXPECT_EQ(json["nodes"], 20);
  EXPECT_EQ(json["hours"], 1);
}

}  // namespace
}  // namespace shoal::swarm_simulation_test
