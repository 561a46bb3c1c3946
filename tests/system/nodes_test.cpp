// Nodes started by hand, as on other machines: an empty directory, the join line, nothing else. In network namespaces
// where they can be made, else on the loopback. And newcomers that are refused while a run goes on.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/machine/available_memory.h"
#include "runtime/transport/certificates.h"
#include "tests/support/process_scene.h"
#include "tests/system/network/network_namespaces.h"

namespace shoal::nodes_test {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kSoon{20'000};

SmallRun three_stages(int steps) { return {3, 1, steps, {"sync.reduction=exact"}}; }

using Words = std::vector<std::string>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Words spawner(const ProcessScene& scene, const SmallRun& run, const Words& words = {}) {
  return Words{shoal_program(), "spawner", "--out", scene.run().string()} + settings_of(scene, run) + words;
}

// A node in an empty directory of its own; `before` is what runs it elsewhere.
Program& start_node(ProcessScene& scene, const std::string& name, const Words& join, const Words& before = {}) {
  ProgramStart start;
  start.arguments = before + Words{shoal_program()} + join + Words{"--name", name};
  start.folder = scene.make_folder("of-" + name);
  return scene.start_program(std::move(start));
}

Program& start_words(ProcessScene& scene, Words words) {
  ProgramStart start;
  start.arguments = std::move(words);
  return scene.start_program(std::move(start));
}

void expect_equal_to_single(ProcessScene& scene, const SmallRun& run, const Words& words = {}) {
  ASSERT_EQ(scene.run_to_end(train(scene, "single", run, Words{"--single"} + words)), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
  EXPECT_EQ(scene.records().steps.size(), scene.records("single").steps.size());
}

void expect_checkpoint_here(const ProcessScene& scene, int steps, int stages) {
  const fs::path folder = scene.run() / "checkpoints" / ("step_" + std::to_string(steps));
  EXPECT_TRUE(fs::exists(folder / "manifest.json"));
  for (int stage = 0; stage < stages; ++stage)
    EXPECT_TRUE(fs::exists(folder / ("stage_" + std::to_string(stage) + ".safetensors"))) << stage;
}

TEST(Nodes, OnHostsOfTheirOwnTrainTheSameModel) {
  ProcessScene scene;
  const NetworkNamespaces hosts(4);
  if (!hosts.are_there()) GTEST_SKIP() << hosts.why_not();
  const SmallRun run = three_stages(20);
  Program& boss = start_words(scene, hosts.on(4) + spawner(scene, run, {"--listen", hosts.address_of(4) + ":0"}));
  const Words join = wait_for_join_words(boss);
  std::vector<Program*> nodes;
  for (int host = 1; host <= 3; ++host)
    nodes.push_back(&start_node(scene, "host" + std::to_string(host), join, hosts.on(host)));
  EXPECT_EQ(boss.wait(kRunLimit), 0);
  for (Program* node : nodes) EXPECT_EQ(node->wait(kSoon), 0) << node->err();
  for (const char* folder : {"of-host1", "of-host2", "of-host3"}) EXPECT_TRUE(fs::is_empty(scene.folder() / folder));
  expect_checkpoint_here(scene, 20, 3);
  expect_equal_to_single(scene, run);
}

TEST(Nodes, OnAnotherLoopbackAddressTrainTheSameModel) {
  ProcessScene scene;
  const SmallRun run = three_stages(20);
  Program& boss = start_words(scene, spawner(scene, run, {"--listen", "127.0.0.2:0"}));
  const Words join = wait_for_join_words(boss);
  EXPECT_TRUE(join.at(2).starts_with("127.0.0.2:")) << join.at(2);
  std::vector<Program*> nodes;
  for (const std::string name : {"one", "two", "three"}) nodes.push_back(&start_node(scene, name, join));
  EXPECT_EQ(boss.wait(kRunLimit), 0);
  for (Program* node : nodes) EXPECT_EQ(node->wait(kSoon), 0) << node->err();
  expect_checkpoint_here(scene, 20, 3);
  expect_equal_to_single(scene, run);
}

TEST(Nodes, ThatAreEarlyWaitForTheSpawner) {
  ProcessScene scene;
  const SmallRun run{2, 1, 20, {"sync.reduction=exact"}};
  Program& first = start_words(scene, spawner(scene, run));
  const Words join = wait_for_join_words(first);
  first.signal(SIGKILL);
  ASSERT_EQ(first.wait(kSoon), 128 + SIGKILL);
  ASSERT_TRUE(scene.wait_until_all_gone(kSoon));
  Program& early = start_node(scene, "early", join);
  EXPECT_FALSE(early.wait(Milliseconds(1'500)).has_value()) << "an unreachable spawner never ends a node";
  const std::string shown = describe(scene.processes());
  EXPECT_NE(shown.find(join.at(2)), std::string::npos) << shown;
  EXPECT_EQ(shown.find(join.at(4)), std::string::npos) << "who sees command lines could join: " << shown;
  // It and its storage take the addresses that they had: the port behind a free one may be another program's.
  Program& again = start_words(scene, {shoal_program(), "spawner", "--resume", scene.run().string()});
  Program& late = start_node(scene, "late", join);
  EXPECT_EQ(again.wait(kRunLimit), 0);
  EXPECT_EQ(early.wait(kSoon), 0) << early.err();
  EXPECT_EQ(late.wait(kSoon), 0) << late.err();
  expect_equal_to_single(scene, run);
}

TEST(Nodes, BeyondThoseNeededAreSparesThatWait) {
  ProcessScene scene;
  const SmallRun run{2, 1, 20, {"sync.reduction=exact"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run, {"--nodes", "4"})), 0);
  const auto last = scene.records().steps.back().text;
  EXPECT_NE(last.find("\"replicas\":[1,1]"), std::string::npos) << last;
  expect_equal_to_single(scene, run);
}

// pipeline.replicas_max: later nodes are used up to it, and the bits stay as they are.
TEST(Nodes, ThatComeLaterBringAStageUpToItsMost) {
  for (const int most : {0, 2}) {  // 0: no limit
    ProcessScene scene;
    const SmallRun run{1, 1, kEndless, {"sync.reduction=exact", "pipeline.replicas_max=" + std::to_string(most)}};
    Program& boss = start_words(scene, spawner(scene, run));
    const Words join = wait_for_join_words(boss);
    std::vector<Program*> nodes{&start_node(scene, "first", join)};
    ASSERT_TRUE(scene.wait_for_steps(3));
    for (const std::string name : {"second", "third"}) nodes.push_back(&start_node(scene, name, join));
    const std::string expected = most == 0 ? "\"replicas\":[3]" : "\"replicas\":[2]";
    const auto is_as_expected = [&] { return scene.records().steps.back().text.find(expected) != std::string::npos; };
    for (const char* line : {"[joined] second", "[joined] third"}) {
      EXPECT_TRUE(wait_until([&] { return boss.err().find(line) != std::string::npos; }, kSoon)) << boss.err();
    }
    EXPECT_TRUE(wait_until(is_as_expected, kSoon));
    EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
    EXPECT_TRUE(is_as_expected()) << "and no more";
    const Words as_far = scene.stop(boss);
    for (Program* node : nodes) EXPECT_EQ(node->wait(kSoon), 0) << node->err();
    expect_equal_to_single(scene, run, as_far);
  }
}

// A script waits for one line, whichever stream it reads.
TEST(Nodes, AreAskedForByTheLastLineOfTheStart) {
  ProcessScene scene;
  Program& boss = start_words(scene, spawner(scene, {1, 1, 20, {}}));
  (void)wait_for_join_words(boss);
  const std::string line = boss.out();
  EXPECT_TRUE(line.starts_with("shoal node --join ") && line.find('\n') + 1 == line.size()) << line;
  EXPECT_TRUE(wait_until([&] { return boss.err().ends_with(line); }, kSoon)) << boss.err();
  EXPECT_LT(boss.err().find("[joined] storage"), boss.err().find(line)) << boss.err();
  boss.signal(SIGTERM);
  EXPECT_EQ(boss.wait(kSoon), 75);
  EXPECT_EQ(boss.out(), line) << "nothing else is a result";
}

TEST(Nodes, TooFewAreSaid) {
  ProcessScene scene;
  Program& boss = start_words(scene, spawner(scene, {2, 1, 20, {}}));
  const Words join = wait_for_join_words(boss);
  Program& node = start_node(scene, "lonely", join);
  const auto says_what_it_waits_for = [&] {
    Program& status = scene.start({"status", "--run", scene.run().string()});
    return status.wait(kSoon) == 0 && status.out().find("waiting for 1") != std::string::npos;
  };
  EXPECT_TRUE(wait_until(says_what_it_waits_for, kSoon));
  const std::string notice = "shoal: waiting for 1 node for stage 1, since ";
  EXPECT_TRUE(wait_until([&] { return boss.err().find(notice) != std::string::npos; }, kSoon)) << boss.err();
  boss.signal(SIGTERM);
  EXPECT_EQ(boss.wait(kSoon), 75);
  EXPECT_EQ(node.wait(kSoon), 0) << node.err();
}

// Bytes that a replica of the first stage needs, as the plan says.
double need_of_first_stage(ProcessScene& scene, const SmallRun& run, int microbatch) {
  const Words sizes = {"--set", "batch.sequences=" + std::to_string(microbatch), "--set",
                       "batch.microbatch=" + std::to_string(microbatch)};
  Program& plan = start_words(scene, Words{shoal_program(), "plan", "--json"} + settings_of(scene, run) + sizes);
  EXPECT_EQ(plan.wait(kSoon), 0) << plan.err();
  return nlohmann::json::parse(plan.out())["stages"][0]["credits"]["total_bytes"].get<double>();
}

// Each of the two would have its stage, and both together more memory than there is.
TEST(Nodes, OfOneMachineShareItsMemory) {
  ProcessScene scene;
  const SmallRun run{2, 1, 20, {}};
  const auto whole = whole_memory();
  ASSERT_TRUE(whole);
  constexpr int kSample = 4000;
  const double rate =
      (need_of_first_stage(scene, run, 2 * kSample) - need_of_first_stage(scene, run, kSample)) / kSample;
  const auto microbatch = std::to_string(static_cast<int>(0.6 * static_cast<double>(*whole) / rate));
  Program& boss = start_words(
      scene,
      spawner(scene, run, {"--set", "batch.sequences=" + microbatch, "--set", "batch.microbatch=" + microbatch}));
  const Words join = wait_for_join_words(boss);
  Program& one = start_node(scene, "one", join);
  Program& other = start_node(scene, "other", join);
  const auto is_said = [&] { return boss.err().find("[stage_does_not_fit]") != std::string::npos; };
  EXPECT_TRUE(wait_until(is_said, kSoon)) << boss.err();
  boss.signal(SIGTERM);
  EXPECT_EQ(boss.wait(kSoon), 75);
  EXPECT_EQ(one.wait(kSoon), 0) << one.err();
  EXPECT_EQ(other.wait(kSoon), 0) << other.err();
}

TEST(Nodes, TooFewEndARunAfterItsTimeOut) {
  ProcessScene scene;
  Program& boss = start_words(scene, spawner(scene, {2, 1, 20, {}}, {"--wait-timeout", "10"}));
  const Words join = wait_for_join_words(boss);
  Program& node = start_node(scene, "lonely", join);
  EXPECT_TRUE(wait_until([&] { return boss.err().find("[joined] lonely") != std::string::npos; }, kSoon)) << boss.err();
  EXPECT_EQ(boss.wait(kRunLimit), 4);
  EXPECT_EQ(node.wait(kSoon), 4) << "the run is over, and how: " << node.err();
}

// Its machine was lost in the middle of a run, and its nodes with it.
TEST(Nodes, TooFewEndARunThatGoesOnAfterItsTimeOut) {
  ProcessScene scene;
  Program& boss = start_words(scene, spawner(scene, {1, 1, kEndless, {}}));
  const Words join = wait_for_join_words(boss);
  Program& node = start_node(scene, "only", join);
  ASSERT_TRUE(scene.wait_for_steps(3));
  boss.signal(SIGKILL);
  node.signal(SIGKILL);
  ASSERT_TRUE(scene.wait_until_all_gone(kSoon));
  const Words words{shoal_program(), "spawner", "--resume", scene.run().string(), "--wait-timeout", "4"};
  Program& resumed = start_words(scene, words);
  EXPECT_EQ(resumed.wait(kRunLimit), 4) << resumed.err();
}

TEST(Nodes, LeavePolitelyWhenAsked) {
  ProcessScene scene;
  Program& boss = start_words(scene, spawner(scene, {1, 1, kEndless, {}}));
  const Words join = wait_for_join_words(boss);
  Program& first = start_node(scene, "first", join);
  ASSERT_TRUE(scene.wait_for_steps(3));
  Program& spare = start_node(scene, "spare", join);
  ASSERT_TRUE(wait_until([&] { return boss.err().find("[joined] spare") != std::string::npos; }, kSoon)) << boss.err();
  spare.signal(SIGTERM);
  EXPECT_EQ(spare.wait(kSoon), 0) << spare.err();
  const auto before = scene.records().steps.size();
  EXPECT_TRUE(scene.wait_for_steps(before + 3)) << "the run goes on";
  boss.signal(SIGTERM);
  EXPECT_EQ(boss.wait(kSoon), 75);
  EXPECT_EQ(first.wait(kSoon), 0) << first.err();
}

TEST(Nodes, ASpareTakesThePlaceOfTheLastOneThatLeaves) {
  ProcessScene scene;
  Program& boss = start_words(scene, spawner(scene, {1, 1, kEndless, {"pipeline.replicas_max=1"}}));
  const Words join = wait_for_join_words(boss);
  Program& first = start_node(scene, "first", join);
  ASSERT_TRUE(scene.wait_for_steps(3));
  Program& spare = start_node(scene, "spare", join);
  ASSERT_TRUE(wait_until([&] { return boss.err().find("[joined] spare") != std::string::npos; }, kSoon)) << boss.err();
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(kSoon), 0) << first.err();
  EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 3)) << "the run goes on";
  EXPECT_EQ(std::ranges::count(scene.records().events, "rolled_back", &EventLine::event), 0);
  EXPECT_EQ(std::ranges::count(scene.records().events, "checkpoint", &EventLine::event), 0) << "nothing was saved";
  boss.signal(SIGTERM);
  EXPECT_EQ(boss.wait(kSoon), 75);
  EXPECT_EQ(spare.wait(kSoon), 0) << spare.err();
}

// The only replica is in the middle of a step that takes longer: it cannot leave politely in time.
TEST(Nodes, AreKilledWhenTheirGraceIsOver) {
  ProcessScene scene;
  Program& boss = start_words(scene, spawner(scene, {1, 1, kEndless, {}}));
  Words words = wait_for_join_words(boss);
  words.insert(words.end(), {"--device", "paced:4000", "--grace", "1"});
  Program& node = start_node(scene, "slow", words);
  ASSERT_TRUE(wait_until([&] { return boss.err().find("[training]") != std::string::npos; }, kSoon)) << boss.err();
  node.signal(SIGTERM);
  EXPECT_EQ(node.wait(kSoon), 143) << "as after a second signal";
  EXPECT_NE(node.err().find("did not end within 1 s; killing it"), std::string::npos) << node.err();
  boss.signal(SIGTERM);
  EXPECT_TRUE(boss.wait(kSoon).has_value()) << boss.err();
}

// A run in progress that newcomers try to enter.
struct BusyRun {
  ProcessScene scene;
  Program* boss = nullptr;
  Words join;

  BusyRun() {
    boss = &start_words(scene, spawner(scene, {1, 1, kEndless, {}}));
    join = wait_for_join_words(*boss);
    start_node(scene, "honest", join);
    EXPECT_TRUE(scene.wait_for_steps(3));
  }
  void expect_refused(const Words& words, const std::string& name, const std::string& said) {
    Program& node = start_node(scene, name, words);
    EXPECT_EQ(node.wait(kSoon), 4) << node.err();
    EXPECT_NE(node.err().find(said), std::string::npos) << said << " in " << node.err();
    const auto before = scene.records().steps.size();
    EXPECT_TRUE(scene.wait_for_steps(before + 3)) << "the run goes on";
  }
  void end() {
    boss->signal(SIGTERM);
    EXPECT_EQ(boss->wait(kSoon), 75);
    EXPECT_TRUE(scene.wait_until_all_gone(kSoon)) << describe(scene.processes());
  }
};

TEST(Refused, AWrongToken) {
  BusyRun busy;
  Words other = busy.join;
  std::string& token = other.at(4);
  token[token.size() / 2] = token[token.size() / 2] == 'A' ? 'B' : 'A';
  busy.expect_refused(other, "flipped", "token");
  other.at(4) = busy.join.at(4).substr(0, 30);
  busy.expect_refused(other, "truncated", "token");
  busy.end();
}

TEST(Refused, ATokenOfAnotherRun) {
  BusyRun busy;
  BusyRun elsewhere;
  Words other = busy.join;
  other.at(4) = elsewhere.join.at(4);
  busy.expect_refused(other, "stranger", "token");
  elsewhere.end();
  busy.end();
}

TEST(Refused, ACertificateOfAnotherAuthority) {
  BusyRun busy;
  const fs::path folder = busy.scene.make_folder("foreign");
  const auto now = std::chrono::system_clock::now();
  const auto authority = Authority::create((folder / "authority").string(), RunId{77}, now);
  ASSERT_TRUE(authority.ok());
  const auto credentials = authority->issue({RunId{77}, PeerRole::kNode, "foreign"}, usual_validity(now));
  ASSERT_TRUE(credentials.ok());
  ASSERT_TRUE(write_credentials(credential_files(folder.string(), "node"), *credentials).ok());
  Words words = {"node", "--join", busy.join.at(2), "--certs", folder.string()};
  busy.expect_refused(words, "foreign", "certificate");
  busy.end();
}

// Files of a node that this run's authority has signed.
Words with_certificate(const BusyRun& busy, const std::string& name, const Validity& validity) {
  const fs::path folder = busy.scene.make_folder("certs-of-" + name);
  const auto authority = Authority::open((busy.scene.run() / "certs").string());
  const auto credentials = authority->issue({authority->run(), PeerRole::kNode, name}, validity);
  EXPECT_TRUE(write_credentials(credential_files(folder.string(), "node"), *credentials).ok());
  return {"node", "--join", busy.join.at(2), "--certs", folder.string()};
}

TEST(Refused, ACertificateThatHasExpired) {
  BusyRun busy;
  const auto now = std::chrono::system_clock::now();
  const Words words = with_certificate(busy, "old", {now - std::chrono::hours(48), now - std::chrono::hours(1)});
  busy.expect_refused(words, "old", "it has expired; get a new one");
  busy.end();
}

// The clock of either machine may be wrong for a while.
TEST(Nodes, WhoseCertificateIsNotYetValidWaitUntilItIs) {
  BusyRun busy;
  const auto now = std::chrono::system_clock::now();
  const Words words = with_certificate(busy, "early", {now + std::chrono::seconds(6), now + std::chrono::hours(1)});
  Program& node = start_node(busy.scene, "early", words);
  const auto has_joined = [&] { return busy.boss->err().find("[joined] early") != std::string::npos; };
  EXPECT_TRUE(wait_until(has_joined, kSoon)) << node.err();
  EXPECT_NE(node.err().find("it is waited for, unless the clocks"), std::string::npos) << node.err();
  EXPECT_FALSE(node.status());
  busy.end();
}

// The run directory has its trace from the run; what both wrote nobody could read.
TEST(Nodes, KeepNoTraceWhereTheRunOrAnotherNodeDoes) {
  BusyRun busy;
  Program& twice = start_node(busy.scene, "twice", busy.join + Words{"--trace", busy.scene.run().string()});
  EXPECT_EQ(twice.wait(kSoon), 2) << twice.err();
  EXPECT_NE(twice.err().find("is a run directory"), std::string::npos) << twice.err();
  const fs::path folder = busy.scene.make_folder("traces");
  const Words traced = busy.join + Words{"--trace", folder.string()};
  start_node(busy.scene, "own", traced);
  const auto has_joined = [&] { return busy.boss->err().find("[joined] own") != std::string::npos; };
  ASSERT_TRUE(wait_until(has_joined, kSoon)) << busy.boss->err();
  Program& second = start_node(busy.scene, "own", traced);
  EXPECT_EQ(second.wait(kSoon), 2) << second.err();
  EXPECT_NE(second.err().find("keeps its traces in"), std::string::npos) << second.err();
  start_node(busy.scene, "other", traced);
  EXPECT_TRUE(wait_until([&] { return busy.boss->err().find("[joined] other") != std::string::npos; }, kSoon));
  busy.end();
}

TEST(Refused, ANameThatIsTaken) {
  BusyRun busy;
  ProgramStart start;
  start.arguments = Words{shoal_program()} + busy.join + Words{"--name", "honest"};
  start.folder = busy.scene.make_folder("twin");
  Program& twin = busy.scene.start_program(std::move(start));
  EXPECT_EQ(twin.wait(kSoon), 4) << twin.err();
  EXPECT_NE(twin.err().find("honest"), std::string::npos) << twin.err();
  const auto before = busy.scene.records().steps.size();
  EXPECT_TRUE(busy.scene.wait_for_steps(before + 3)) << "the run goes on";
  busy.end();
}

}  // namespace
}  // namespace shoal::nodes_test
