// Orders of a person to a run that goes on: each kind of actor and process is made to fail by `shoal kill`, and the run
// ends as if nobody had touched it: same bits, nothing missing in its records, nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/system/operate/commanded_run.h"

namespace shoal::operator_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Milliseconds kSoon{60'000};

// Longer than anything that is done to it: it is told to stop.
SmallRun endless_run() { return {2, 2, kEndless, {"sync.reduction=exact", "checkpoint.every=50"}}; }

std::size_t count_of(const RunRecords& records, const std::string& event, const std::string& subject) {
  return static_cast<std::size_t>(std::ranges::count_if(records.events, [&](const EventLine& line) {
    return line.event == event && line.subject == subject && !line.reason.empty();
  }));
}

// A run that trains, and the commands of a person.
class Operator : public CommandedRun {
 protected:
  void start(const SmallRun& small = endless_run()) {
    small_ = small;
    program_ = &scene.start(train(scene, "run", small));
    ASSERT_TRUE(scene.wait_for_steps(5));
  }
  int kill(const std::string& name, const std::string& how) { return order({"kill", name, "--how", how}); }
  [[nodiscard]] std::size_t serving() {
    std::size_t count = 0;
    for (const auto& actor : actors()) {
      const bool is_stage = actor.at("name").get<std::string>().starts_with("stage/");
      count += is_stage && actor.at("state") == "serving" ? 1U : 0U;
    }
    return count;
  }
  [[nodiscard]] bool goes_on() { return scene.wait_for_steps(scene.records().steps.size() + 4); }

  void kill_and_train_on(const std::string& name, const std::string& how, bool is_restarted = false) {
    SCOPED_TRACE(name + " by " + how);
    const std::size_t before = count_of(scene.records(), "restarted", name);
    ASSERT_EQ(kill(name, how), 0) << said;
    EXPECT_THAT(said, HasSubstr(name));
    if (is_restarted) {
      EXPECT_TRUE(wait_until([&] { return count_of(scene.records(), "restarted", name) > before; }, kSoon));
    }
    ASSERT_TRUE(goes_on()) << "training did not go on";
    EXPECT_TRUE(wait_until([&] { return count_of(scene.records(), "injected", name) > 0; }, kSoon));
  }
  // The same steps in one process end with the same bits; every step was recorded once, unless the run went back.
  void stop_and_expect_equal_bits() {
    ASSERT_TRUE(scene.stop_and_repeat_single(*program_, small_));
    EXPECT_EQ(program_->out(), "") << "no result was asked for";
    const auto records = scene.records();
    ASSERT_EQ(records.finals.size(), 1U);
    EXPECT_TRUE(records.damaged.empty());
    const std::uint64_t steps = records.finals[0].steps;
    EXPECT_EQ(records.weights(), scene.records("single").weights());
    if (count_of(records, "rolled_back", "run") > 0) return;
    ASSERT_EQ(records.steps.size(), steps);
    for (std::size_t at = 0; at < steps; ++at) ASSERT_EQ(records.steps[at].step, at);
  }

 private:
  SmallRun small_;
  Program* program_ = nullptr;
};

TEST_F(Operator, SideActorsAreStartedAgainAndNoLineIsLost) {
  start();
  for (const std::string name : {"metrics", "control", "storage", "tracer/node2", "tracer/spawner"}) {
    for (const std::string how : {"exit", "kill", "throw", "freeze=0.3"}) {
      kill_and_train_on(name, how, how != "freeze=0.3");
    }
    EXPECT_EQ(count_of(scene.records(), "restarted", name), 3U) << name;
  }
  stop_and_expect_equal_bits();
}

TEST_F(Operator, ChildrenOfTheSupervisorAreStartedAgain) {
  start();
  for (const std::string name : {"data_loader", "sync_group/0", "sync_group/1"}) {
    for (const std::string how : {"exit", "kill", "throw", "freeze=0.3"}) {
      kill_and_train_on(name, how, how != "freeze=0.3");
    }
    EXPECT_GE(count_of(scene.records(), "restarted", name), 3U) << name;
  }
  stop_and_expect_equal_bits();
}

TEST_F(Operator, TheSpawnersProcessComesBack) {
  start();
  std::size_t lives = 0;
  for (const std::string name : {"supervisor", "router/spawner"}) {
    for (const std::string how : {"kill", "exit"}) {
      ASSERT_EQ(kill(name, how), 0) << said;
      ++lives;
      ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "resumed", "spawner") == lives; }, kSoon));
      ASSERT_TRUE(goes_on());
    }
  }
  stop_and_expect_equal_bits();
}

// A storm of ends against a side actor: given up once, said once, and nobody waits for it.
TEST_F(Operator, AStormAgainstOneActorTripsItsBudgetOnce) {
  start();
  const auto is_given_up = [this] {
    (void)kill("tracer/node1", "kill");
    return count_of(scene.records(), "escalated", "tracer/node1") > 0;
  };
  ASSERT_TRUE(wait_until(is_given_up, kRunLimit));
  for (int i = 0; i < 10; ++i) (void)kill("tracer/node1", "kill");
  ASSERT_TRUE(goes_on());
  EXPECT_EQ(count_of(scene.records(), "escalated", "tracer/node1"), 1U);
  EXPECT_LE(count_of(scene.records(), "restarted", "tracer/node1"), 10U);
  stop_and_expect_equal_bits();
}

TEST_F(Operator, AFrozenNodeIsWaitedFor) {
  start();
  kill_and_train_on("node2", "freeze=1");
  EXPECT_EQ(count_of(scene.records(), "process_lost", "node2"), 0U);
  EXPECT_EQ(serving(), 4U);
  stop_and_expect_equal_bits();
}

TEST_F(Operator, ProcessesListsEveryActor) {
  start();
  ASSERT_EQ(kill("tracer/node1", "kill"), 0) << said;
  const auto is_told = [this] {
    std::set<std::string> names;
    std::uint64_t restarts = 0;
    for (const auto& actor : actors()) {
      names.insert(actor.at("name").get<std::string>());
      if (actor.at("name") == "tracer/node1") restarts = actor.at("restarts").get<std::uint64_t>();
    }
    for (const std::string name : {"supervisor", "metrics", "control", "storage", "data_loader", "sync_group/0",
                                   "router/spawner", "router/node3", "node_agent/node4", "stage/1/1", "tracer/node2"}) {
      if (!names.contains(name)) return false;
    }
    return restarts == 1;
  };
  EXPECT_TRUE(wait_until(is_told, kSoon)) << out;
  ASSERT_EQ(order({"ps"}), 0);
  EXPECT_THAT(out, HasSubstr("└─ tracer/node4"));
  EXPECT_THAT(out, HasSubstr("stage/0/1"));
  stop_and_expect_equal_bits();
}

// The target's keeper starts it again meanwhile.
TEST_F(Operator, WhoIsBeingStartedAgainIsWaitedFor) {
  start();
  ASSERT_EQ(kill("node2", "kill"), 0) << said;
  ASSERT_TRUE(wait_until([this] { return count_of(scene.records(), "process_lost", "node2") == 1; }, kSoon));
  ASSERT_EQ(kill("router/node2", "freeze=0.1"), 0) << said;
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

// Counts how often a spawner took the run over from the one before it.
std::size_t returns_in(const std::filesystem::path& log) {
  std::ifstream lines(log);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(" takes over at entry ") != std::string::npos;
  return count;
}

TEST_F(Operator, ASpawnerThatIsBeingStartedAgainIsWaitedFor) {
  start();
  const auto log = scene.run() / "logs" / "spawner.log";
  std::size_t returns = 0;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"kill", "tracer/node1"},
                                                {"kill", "supervisor", "--how", "kill"},
                                                {"drain", "node4"}}) {
    const auto spawner = named_like(scene.processes(), "internal-spawner");
    ASSERT_EQ(spawner.size(), 1U);
    ASSERT_EQ(::kill(spawner[0].pid, SIGKILL), 0);
    const auto is_it = [&](const ProcessEntry& process) { return process.pid == spawner[0].pid; };
    // Until it is dead it may take an order and not answer, and nobody repeats that for a person.
    ASSERT_TRUE(wait_until([&] { return std::ranges::none_of(scene.processes(), is_it); }, kSoon));
    EXPECT_EQ(order(words), 0) << said;
    returns += words[1] == "supervisor" ? 2 : 1;
    ASSERT_TRUE(wait_until([&] { return returns_in(log) >= returns; }, kSoon));
    ASSERT_TRUE(goes_on());
  }
  EXPECT_EQ(returns_in(log), returns) << "no order is carried out twice";
  stop_and_expect_equal_bits();
}

// The second one waits for the next life where it comes while the first is being carried out.
TEST_F(Operator, EachOfTwoOrdersToOneProcessEndsALifeOfIt) {
  start();
  const std::vector<std::string> words = {"kill", "node2", "--how", "exit", "--run", scene.run().string()};
  const std::vector<Program*> orders = {&scene.start(words), &scene.start(words)};
  for (Program* one : orders) EXPECT_EQ(one->wait(kRunLimit), 0) << one->err();
  EXPECT_TRUE(wait_until([this] { return count_of(scene.records(), "process_lost", "node2") == 2; }, kSoon));
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

TEST_F(Operator, WhatIsNotThereIsAUsageError) {
  start();
  EXPECT_EQ(kill("stage/7/0", "kill"), 2);
  EXPECT_THAT(said, HasSubstr("did you mean 'stage/0/0'"));
  EXPECT_THAT(said, HasSubstr("sync_group/1"));
  EXPECT_EQ(kill("stage/0/0", "stab"), 2);
  EXPECT_EQ(kill("stage/0/0", "freeze"), 2);
  EXPECT_EQ(order({"logs", "node9"}), 2);
  EXPECT_EQ(order({"drain", "metrics"}), 2);
  EXPECT_EQ(order({"chaos", "--kinds", "stages"}), 2);
  stop_and_expect_equal_bits();
  EXPECT_EQ(kill("stage/0/0", "kill"), 4) << "nobody is there any more";
  EXPECT_EQ(order({"logs", "supervisor"}), 0);
  EXPECT_THAT(out, HasSubstr("supervisor"));
  EXPECT_THAT(out, Not(HasSubstr(" router: ")));
}

TEST_F(Operator, ALogIsFollowedUntilTheRunIsOver) {
  start();
  Program& follower = scene.start({"logs", "supervisor", "--follow", "--run", scene.run().string()});
  ASSERT_TRUE(wait_until([&] { return !follower.out().empty(); }, kSoon));
  EXPECT_FALSE(follower.wait(Milliseconds(1000))) << "it goes on";
  std::filesystem::resize_file(scene.run() / "logs" / "spawner.log", 0);  // as logrotate's copytruncate does
  stop_and_expect_equal_bits();
  EXPECT_EQ(follower.wait(kSoon), 0);
  EXPECT_THAT(follower.out(), HasSubstr("stopped"));
}

TEST_F(Operator, WhoAsksARunThatIsOverIsToldSo) {
  const SmallRun small{1, 1, kEndless, {"checkpoint.every=0"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", small, {"--steps", "4"})), 0);
  const std::vector<std::vector<std::string>> commands = {{"status"},
                                                          {"status", "--json"},
                                                          {"ps"},
                                                          {"kill", "stage/0/0"},
                                                          {"drain", "node1"},
                                                          {"evict", "node1"},
                                                          {"checkpoint"},
                                                          {"checkpoint", "--wait"},
                                                          {"token", "ls"},
                                                          {"token", "new"},
                                                          {"token", "revoke", "1a2b3c4d"},
                                                          {"chaos", "--every", "600"}};
  for (const auto& words : commands) {
    SCOPED_TRACE(words.front());
    EXPECT_EQ(order(words), 4) << "at once";
    EXPECT_THAT(said, HasSubstr("has finished"));
    std::vector<std::string> nowhere = words;
    nowhere.insert(nowhere.end(), {"--run", scene.run("nowhere").string()});
    Program& lost = scene.start(nowhere);
    EXPECT_EQ(lost.wait(kRunLimit), 2) << "a word that was mistyped";
    EXPECT_THAT(lost.err(), HasSubstr("nowhere: there is no such directory"));
  }
  Program& program = scene.start({"train", "--resume", scene.run().string()});
  ASSERT_TRUE(scene.wait_for_steps(5));
  program.signal(SIGKILL);
  ASSERT_TRUE(scene.wait_until_all_gone(kSoon));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ps"}, {"kill", "metrics"}, {"chaos", "--for", "0.5"}}) {
    EXPECT_EQ(order(words), 4);
    EXPECT_THAT(said, HasSubstr("--resume"));
  }
}

TEST_F(Operator, ADrainedNodeLeavesBetweenTwoSteps) {
  start();
  const std::string leaver = node_of("stage/0/1");
  ASSERT_EQ(order({"drain", "stage/0/1"}), 0) << said;
  EXPECT_THAT(out, HasSubstr(leaver + " leaves after step"));
  ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "left", leaver) == 1; }, kSoon));
  EXPECT_EQ(count_of(scene.records(), "process_lost", leaver), 0U) << "nobody's fault";
  ASSERT_TRUE(goes_on());
  const auto is_gone = [&] { return named_like(scene.processes(), "--name " + leaver + " ").empty(); };
  EXPECT_TRUE(wait_until(is_gone, kSoon)) << "its keeper has nothing left to do";
  EXPECT_THAT(scene.records().steps.back().text, HasSubstr("\"replicas\":[1,2]"));
  stop_and_expect_equal_bits();
}

// The next spawner hears of it from the node.
TEST_F(Operator, ANodeThatIsLeavingWhenTheSpawnerIsKilledDoesNotStay) {
  start();
  const std::string leaver = node_of("stage/0/1");
  ASSERT_EQ(kill("stage/0/1", "freeze=4"), 0) << "the step does not end before the kill";
  ASSERT_EQ(order({"drain", leaver}), 0) << said;
  EXPECT_THAT(out, HasSubstr(leaver + " leaves after step"));
  const auto log = scene.run() / "logs" / "spawner.log";
  const std::size_t returns = returns_in(log);
  const auto spawner = named_like(scene.processes(), "internal-spawner");
  ASSERT_EQ(spawner.size(), 1U);
  ASSERT_EQ(count_of(scene.records(), "left", leaver), 0U) << "the control";
  ASSERT_EQ(::kill(spawner[0].pid, SIGKILL), 0);
  ASSERT_TRUE(wait_until([&] { return returns_in(log) > returns; }, kSoon));
  EXPECT_TRUE(wait_until([&] { return named_like(scene.processes(), "--name " + leaver + " ").empty(); }, kSoon));
  EXPECT_TRUE(wait_until([&] { return count_of(scene.records(), "left", leaver) == 1; }, kSoon));
  EXPECT_EQ(count_of(scene.records(), "process_lost", leaver), 0U) << "nobody's fault";
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

// The keeper starts the worker again, and that one is told to leave at once.
TEST_F(Operator, ANodeThatIsKilledWhileItLeavesDoesNotStay) {
  start();
  const std::string leaver = node_of("stage/0/1");
  const auto processes_of_it = [&] { return named_like(scene.processes(), "--name " + leaver + " "); };
  ASSERT_EQ(kill("stage/0/1", "freeze=60"), 0) << "the step does not end before the kill";
  ASSERT_EQ(order({"drain", leaver}), 0) << said;
  EXPECT_THAT(out, HasSubstr(leaver + " leaves after step"));
  const auto workers = named_like(processes_of_it(), "shoal-worker");
  ASSERT_EQ(workers.size(), 1U);
  ASSERT_EQ(::kill(workers[0].pid, SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] { return processes_of_it().empty(); }, kSoon));
  const auto has_left = [&] { return count_of(scene.records(), "left", leaver) == 1; };
  EXPECT_TRUE(wait_until(has_left, kSoon));
  EXPECT_EQ(count_of(scene.records(), "process_lost", leaver), 1U) << "it was killed, then it left";
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

TEST_F(Operator, AStormOfSideActorsMovesNoBit) {
  start();
  EXPECT_EQ(order({"chaos", "--every", "0.4", "--for", "8", "--seed", "7", "--kinds", "metrics", "control,tracer",
                   "data_loader", "sync_group", "storage", "freeze"}),
            0)
      << said;
  EXPECT_THAT(said, HasSubstr("--seed 7"));
  EXPECT_GE(std::ranges::count(out, '\n'), 10);
  ASSERT_TRUE(goes_on());
  stop_and_expect_equal_bits();
}

}  // namespace
}  // namespace shoal::operator_test
