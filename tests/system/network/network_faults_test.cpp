// A bad network between the processes of a run (tests/emulator), and processes that freeze: the run goes on or comes
// back, a process that is only slow or away for a moment is not evicted, and the weights are those of a single process.
//
// How fast a run goes is set by the delay of its links: so a test has the time it needs, and the machine little to do.
// SHOAL_LONG_TESTS=1 in the environment runs every kind of fault where otherwise one stands for all.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/emulator/emulator.h"
#include "tests/support/process_scene.h"

namespace shoal::network_faults_test {
namespace {

constexpr int kSteps = 60;
constexpr std::size_t kDisturbedAfter = 4;
constexpr Milliseconds kEventLimit{60'000};
constexpr Milliseconds kHastyDeath{4'000};
const char* const kHasty = "swarm.dead_after_ms=4000";

// The first, or with SHOAL_LONG_TESTS in the environment all: to be run by hand.
std::vector<const char*> some_of(std::vector<const char*> all) {
  if (std::getenv("SHOAL_LONG_TESTS") == nullptr) all.resize(1);
  return all;
}

SmallRun run_of(std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), "sync.reduction=exact");
  return {2, 2, kSteps, std::move(sets)};
}

class NetworkFaults : public testing::Test {
 protected:
  NetworkFaults() { scene_.set_environment(network_.environment()); }

  void say(const std::string& command) { ASSERT_TRUE(network_.command(command).ok()) << command; }
  void delay_everything(int delay_ms) { say("shape * <-> * delay_ms=" + std::to_string(delay_ms)); }

  // Starts the run and waits until it trains; it goes slowly.
  Program& start_and_train(const SmallRun& run) {
    delay_everything(15);
    Program& program = scene_.start(train(scene_, "run", run));
    EXPECT_TRUE(scene_.wait_for_steps(kDisturbedAfter));
    return program;
  }
  [[nodiscard]] std::size_t steps() const { return scene_.records().steps.size(); }
  [[nodiscard]] bool wait_for_more_steps(std::size_t count) const { return scene_.wait_for_steps(steps() + count); }

  [[nodiscard]] std::size_t count(const std::string& event, const std::string& subject = "") const {
    const auto records = scene_.records();
    return static_cast<std::size_t>(std::ranges::count_if(records.events, [&](const EventLine& line) {
      return line.event == event && (subject.empty() || line.subject == subject);
    }));
  }
  [[nodiscard]] bool wait_for(const std::string& event, const std::string& subject, std::size_t times = 1) const {
    return wait_until([&] { return count(event, subject) >= times; }, kEventLimit);
  }

  // Ends as an undisturbed single process does, bit for bit; without further delay, because all has been seen.
  void expect_equal_bits(Program& program, const SmallRun& run) {
    ASSERT_LT(steps(), static_cast<std::size_t>(run.steps)) << "the run was over before the fault was";
    delay_everything(0);
    ASSERT_EQ(program.wait(kRunLimit), 0);
    const auto records = scene_.records();
    EXPECT_EQ(records.steps.size(), static_cast<std::size_t>(run.steps));
    ASSERT_EQ(scene_.run_to_end(train(scene_, "single", run, {"--single"})), 0);
    EXPECT_EQ(records.weights().size(), 64U);
    EXPECT_EQ(records.weights(), scene_.records("single").weights());
  }

  // Checks that the fault of the network bites: after what is on its way, no step more.
  void expect_stop() const {
    std::size_t before = steps();
    const auto goes_on = [&] { return wait_until([&] { return steps() > before; }, Milliseconds(1'000)); };
    for (int on_its_way = 0; on_its_way < 5 && goes_on(); ++on_its_way) before = steps();
    EXPECT_FALSE(wait_until([&] { return steps() > before; }, Milliseconds(2'500)));
  }

  [[nodiscard]] ProcessEntry worker_of(const std::string& node) const {
    const auto worker = scene_.worker_of(node);
    EXPECT_TRUE(worker) << describe(scene_.processes());
    return worker.value_or(ProcessEntry{});
  }

  // Evicted, and back by itself once `heal` was done, while the run goes on.
  template <class Heal>
  void expect_eviction_and_return(const std::string& node, const Heal& heal) {
    EXPECT_TRUE(wait_for("process_lost", node));
    EXPECT_TRUE(wait_for_more_steps(3)) << "the run goes on without it";
    delay_everything(50);
    heal();
    EXPECT_TRUE(wait_for("joined", node, 2)) << "it comes back by itself";
    EXPECT_EQ(count("process_lost"), 1U) << "nobody else was evicted";
  }

  LinkEmulator network_{1};
  ProcessScene scene_;
};

// The control of all equalities here.
TEST_F(NetworkFaults, AnotherSeedHasOtherBits) {
  SmallRun run = run_of();
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", run)), 0);
  run.sets.push_back("run.seed=8");
  ASSERT_EQ(scene_.run_to_end(train(scene_, "single", run, {"--single"})), 0);
  EXPECT_EQ(scene_.records().weights().size(), 64U);
  EXPECT_NE(scene_.records().weights(), scene_.records("single").weights());
}

TEST_F(NetworkFaults, ALongCutEvictsAndTheNodeComesBackAfterIt) {
  const SmallRun run = run_of({kHasty});
  Program& program = start_and_train(run);
  say("cut node2 <-> *");
  expect_eviction_and_return("node2", [&] { say("heal node2 <-> *"); });
  expect_equal_bits(program, run);
}

class OneWay : public NetworkFaults, public testing::WithParamInterface<const char*> {};

TEST_P(OneWay, ALongCutEvictsAndTheNodeComesBackAfterIt) {
  const SmallRun run = run_of({kHasty});
  Program& program = start_and_train(run);
  say("cut " + std::string(GetParam()));
  expect_eviction_and_return("node3", [&] { say("heal " + std::string(GetParam())); });
  expect_equal_bits(program, run);
}

INSTANTIATE_TEST_SUITE_P(Ways, OneWay, testing::ValuesIn(some_of({"node3 -> *", "* -> node3"})),
                         [](const auto& tested) { return tested.index == 0 ? "Outwards" : "Inwards"; });

// The spawner reaches both, but they do not reach each other: one of the two has to go.
TEST_F(NetworkFaults, OfTwoThatAreCutFromEachOtherOneGoes) {
  const SmallRun run = run_of({kHasty});
  Program& program = start_and_train(run);
  say("cut node1 <-> node3");
  ASSERT_TRUE(wait_for("process_lost", ""));
  EXPECT_TRUE(wait_for_more_steps(3)) << "the run goes on";
  const auto records = scene_.records();
  const auto lost = std::ranges::find(records.events, "process_lost", &EventLine::event);
  EXPECT_TRUE(lost->subject == "node1" || lost->subject == "node3") << lost->text;
  EXPECT_NE(lost->reason.find("cannot reach each other"), std::string::npos) << lost->text;
  delay_everything(50);
  say("heal node1 <-> node3");
  EXPECT_TRUE(wait_for("joined", lost->subject, 2));
  expect_equal_bits(program, run);
}

// TLS makes of damaged bytes a broken connection: it is dialled again, and what it carried is asked for again.
void expect_dialled_again(LinkEmulator& network, const std::string& kind) {
  const auto before = network.counts("*", "*").connections;
  for (const char* link : {" node1 <-> node2", " node1 <-> node3"}) EXPECT_TRUE(network.command(kind + link).ok());
  EXPECT_TRUE(wait_until([&] { return network.counts("*", "*").connections > before; }, kEventLimit)) << kind;
}

// One after the other in one run: what passes within seconds costs nobody its place.
TEST_F(NetworkFaults, WhatPassesSoonEvictsNobody) {
  const SmallRun run = run_of();
  Program& program = start_and_train(run);
  say("shape * <-> * delay_ms=20 jitter_ms=10");
  EXPECT_TRUE(wait_for_more_steps(4));
  EXPECT_GT(network_.counts("node1", "spawner").bytes, 0U) << "it went through the emulator";
  for (const char* kind : {"corrupt", "duplicate", "reset"}) {
    expect_dialled_again(network_, kind);
    EXPECT_TRUE(wait_for_more_steps(2)) << kind;
  }
  EXPECT_GT(network_.counts("*", "*").damage.corrupted, 0U);
  EXPECT_GT(network_.counts("*", "*").damage.duplicated, 0U);
  for (const char* fault : {"cut node1 <-> *", "stall node4 -> *"}) {
    say(fault);
    expect_stop();
    say("heal * <-> *");
    EXPECT_TRUE(wait_for_more_steps(2)) << fault;
  }
  const ProcessEntry worker = worker_of("node1");
  ASSERT_EQ(::kill(worker.pid, SIGSTOP), 0);
  EXPECT_FALSE(wait_until([&] { return count("process_lost") > 0; }, Milliseconds(1'000)));
  ::kill(worker.pid, SIGCONT);
  EXPECT_TRUE(wait_for_more_steps(2));
  EXPECT_EQ(count("process_lost"), 0U);
  expect_equal_bits(program, run);
}

// A fifth of a second each way, from the first dial on.
TEST_F(NetworkFaults, NodesOnLongWaysJoin) {
  const SmallRun run{2, 1, 3, {"sync.reduction=exact"}};
  for (const char* node : {"node1", "node2", "storage"}) say(std::string("shape ") + node + " <-> * delay_ms=200");
  Program& program = scene_.start(train(scene_, "run", run));
  EXPECT_TRUE(scene_.wait_for_steps(1));
  EXPECT_EQ(count("process_lost"), 0U);
  expect_equal_bits(program, run);
}

// Counts the letters of this kind that were sent, as the trace tells.
std::uint64_t letters_sent(ProcessScene& scene, const std::string& kind) {
  Program& program = scene.start({"trace", "summary", scene.run().string()});
  EXPECT_EQ(program.wait(kRunLimit), 0) << program.err();
  std::istringstream lines(program.out());
  std::string word;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream row(line);
    std::uint64_t count = 0;
    if (row >> word >> count && word == kind) return count;
  }
  return 0;
}

// The state that a resumed run starts with takes some fifteen seconds from storage to each of its two stages, and the
// shards of the next checkpoint as long on their way back.
TEST_F(NetworkFaults, StateOnASlowWayIsSentOnce) {
  const SmallRun run{2, 1, 4, {"model.width=64", "trace.level=all", "sync.reduction=exact"}};
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", run, {"--steps", "2"})), 0);
  EXPECT_EQ(letters_sent(scene_, "StateImage"), 0U);
  EXPECT_EQ(letters_sent(scene_, "SaveShard"), 2U) << "the control: letters are found";
  const std::uint64_t way = network_.counts("storage", "*").bytes;
  say("shape storage <-> * bytes_per_s=100000");
  Program& program = scene_.start({"train", "--resume", scene_.run().string()});
  ASSERT_EQ(program.wait(kRunLimit), 0) << program.err();
  EXPECT_GT(network_.counts("storage", "*").bytes, way + 1'000'000) << "the control: it took longer than a question";
  EXPECT_LE(letters_sent(scene_, "StateImage"), 4U) << "once each; again only where a machine stood still for seconds";
  EXPECT_EQ(letters_sent(scene_, "SaveShard"), 4U);
  EXPECT_EQ(count("checkpoint_repeated"), 0U);
}

// A fifth of a second each way: eight round trips to be back take longer than most silences.
TEST_F(NetworkFaults, ADamagedFrameOnALongWayEvictsNobody) {
  const SmallRun run = run_of();
  Program& program = start_and_train(run);
  delay_everything(200);
  const auto before = network_.counts("node1", "spawner").connections;
  say("corrupt node1 -> spawner");
  EXPECT_TRUE(wait_until([&] { return network_.counts("node1", "spawner").connections > before; }, kEventLimit));
  EXPECT_TRUE(wait_for_more_steps(3));
  EXPECT_EQ(count("process_lost"), 0U);
  expect_equal_bits(program, run);
}

class DamagedLink : public NetworkFaults, public testing::WithParamInterface<const char*> {};

TEST_P(DamagedLink, OfALinkWithTheSpawnerIsSurvived) {
  const SmallRun run = run_of();
  Program& program = start_and_train(run);
  const auto before = network_.counts("node1", "spawner").connections;
  say(GetParam() + std::string(" node1 -> spawner"));
  EXPECT_TRUE(wait_until([&] { return network_.counts("node1", "spawner").connections > before; }, kEventLimit));
  delay_everything(50);
  EXPECT_TRUE(wait_for_more_steps(5));
  expect_equal_bits(program, run);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedLink, testing::ValuesIn(some_of({"corrupt", "duplicate", "reset"})),
                         [](const auto& tested) { return std::string(tested.param); });

// Nobody wakes it: its keeper does not wait for that.
TEST_F(NetworkFaults, AFrozenWorkerIsKilledAndStartedAgainByItsKeeper) {
  const SmallRun run = run_of({kHasty});
  Program& program = start_and_train(run);
  const ProcessEntry worker = worker_of("node2");
  ASSERT_EQ(::kill(worker.pid, SIGSTOP), 0);
  expect_eviction_and_return("node2", [] {});
  EXPECT_NE(worker_of("node2").pid, worker.pid);
  const std::string log = read_all(scene_.run() / "logs" / "node2.log");
  EXPECT_NE(log.find("shows no sign of life for"), std::string::npos) << log;
  expect_equal_bits(program, run);
}

// The same of the spawner and storage: nodes wait for the one, and training for neither's words.
TEST_F(NetworkFaults, AFrozenSpawnerAndAFrozenStorageAreStartedAgainByTheirKeeper) {
  const SmallRun run = run_of({kHasty});
  Program& program = start_and_train(run);
  delay_everything(50);
  for (const char* kind : {"internal-storage", "internal-spawner"}) {
    const auto frozen = named_like(scene_.processes(), kind);
    ASSERT_EQ(frozen.size(), 1U);
    ASSERT_EQ(::kill(frozen[0].pid, SIGSTOP), 0);
    const auto is_replaced = [&] {
      const auto now = named_like(scene_.processes(), kind);
      return now.size() == 1 && now[0].pid != frozen[0].pid;
    };
    EXPECT_TRUE(wait_until(is_replaced, kEventLimit)) << kind;
    EXPECT_TRUE(wait_for_more_steps(2)) << kind;
  }
  EXPECT_EQ(count("resumed"), 1U);
  expect_equal_bits(program, run);
}

// A machine that is suspended freezes worker and keeper. The worker wakes, finds itself fenced, ends, and is started
// again; its keeper, which slept as long, does not kill it.
TEST_F(NetworkFaults, AWorkerThatWasSuspendedWithItsKeeperIsFencedAndComesBackWhenItWakes) {
  const SmallRun run = run_of({kHasty});
  Program& program = start_and_train(run);
  const ProcessEntry worker = worker_of("node2");
  ASSERT_EQ(::kill(worker.parent, SIGSTOP), 0);
  ASSERT_EQ(::kill(worker.pid, SIGSTOP), 0);
  EXPECT_TRUE(wait_for("process_lost", "node2"));
  delay_everything(100);
  EXPECT_FALSE(program.wait(2 * kHastyDeath).has_value()) << "three times as long as it takes to be given up";
  expect_eviction_and_return("node2", [&] {
    ::kill(worker.parent, SIGCONT);
    ::kill(worker.pid, SIGCONT);
  });
  const std::string log = read_all(scene_.run() / "logs" / "node2.log");
  EXPECT_EQ(log.find("sign of life"), std::string::npos) << log;
  EXPECT_NE(log.find("it has lost its place in the run and comes back"), std::string::npos) << log;
  expect_equal_bits(program, run);
}

}  // namespace
}  // namespace shoal::network_faults_test
