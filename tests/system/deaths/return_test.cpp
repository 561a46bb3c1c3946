// The spawner, storage, or a whole stage is killed in mid-step: the run goes on by itself to the same bits. With the
// spawner nothing is rolled back; with a whole stage everything is, in place.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "runtime/transport/sockets.h"
#include "tests/support/process_scene.h"
#include "tests/support/taken_port.h"
#include "tests/system/deaths/counted_events.h"

namespace shoal::return_test {
namespace {

constexpr int kSteps = 250;
constexpr std::size_t kKilledAfter = 20;
constexpr Milliseconds kSoon{30'000};

using Clock = std::chrono::steady_clock;

SmallRun run_to_disturb(int replicas) {
  return {2, replicas, kSteps, {"sync.reduction=exact", "checkpoint.every=40", "eval.every=50"}};
}

std::optional<pid_t> pid_like(const ProcessScene& scene, const std::string& text) {
  const auto found = named_like(scene.processes(), text);
  return found.size() == 1 ? std::optional(found.front().pid) : std::nullopt;
}

// SIGKILL, and how long it is until the next step is recorded, in ms.
double kill_and_wait_for_a_step(const ProcessScene& scene, const std::vector<pid_t>& victims) {
  const std::size_t before = scene.records().steps.size();
  const auto begun = Clock::now();
  for (const pid_t victim : victims) EXPECT_EQ(::kill(victim, SIGKILL), 0) << "it was gone before";
  EXPECT_TRUE(scene.wait_for_steps(before + 4));  // up to three were committed and not yet written
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool has_branch(const RunRecords& records, int branch) {
  const std::string text = "\"branch\":" + std::to_string(branch) + ",";
  return std::ranges::any_of(records.steps, [&](const StepLine& line) { return has(line.text, text); });
}

// Every step once and in order, and one evaluation each.
void expect_every_line_once(const RunRecords& records) {
  EXPECT_TRUE(records.damaged.empty());
  ASSERT_EQ(records.steps.size(), static_cast<std::size_t>(kSteps));
  for (std::size_t at = 0; at < records.steps.size(); ++at) ASSERT_EQ(records.steps[at].step, at);
  EXPECT_EQ(records.evaluations.size(), 5U);
  EXPECT_EQ(records.finals.size(), 1U);
}

void expect_undisturbed(const RunRecords& records, const std::string& weights) {
  expect_every_line_once(records);
  EXPECT_EQ(records.weights(), weights);
  EXPECT_EQ(count_of(records, "rolled_back"), 0U);
}

std::string undisturbed_weights(ProcessScene& scene) {
  EXPECT_EQ(scene.run_to_end(train(scene, "single", run_to_disturb(1), {"--single"})), 0);
  return scene.records("single").weights();
}

TEST(KilledSpawner, LosesNothingAndMovesNoBit) {
  ProcessScene scene;
  const std::string weights = undisturbed_weights(scene);
  Program& program = scene.start(train(scene, "run", run_to_disturb(2)));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  const auto spawner = pid_like(scene, "internal-spawner");
  ASSERT_TRUE(spawner);
  const auto workers = named_like(scene.processes(), "shoal-worker node");
  const double pause_ms = kill_and_wait_for_a_step(scene, {*spawner});
  std::cout << "next step recorded after " << pause_ms << " ms\n";
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  expect_undisturbed(records, weights);
  EXPECT_EQ(count_of(records, "returned"), 5U) << "four workers and storage";
  const std::string on_record = read_all(scene.run() / "certs" / "processes");
  EXPECT_EQ(std::ranges::count(on_record, '\n'), 5) << on_record;
  EXPECT_FALSE(has_branch(records, 1));
  EXPECT_EQ(workers.size(), 4U);
}

TEST(KilledSpawner, AgainAndAgain) {
  ProcessScene scene;
  const std::string weights = undisturbed_weights(scene);
  Program& program = scene.start(train(scene, "run", run_to_disturb(2)));
  for (std::size_t after = kKilledAfter; after <= 4 * kKilledAfter; after += kKilledAfter) {
    ASSERT_TRUE(scene.wait_for_steps(after));
    std::optional<pid_t> spawner;
    ASSERT_TRUE(wait_until([&] { return (spawner = pid_like(scene, "internal-spawner")).has_value(); }, kSoon));
    ASSERT_TRUE(scene.kill_before(kSteps, *spawner));
  }
  ASSERT_EQ(program.wait(kRunLimit), 0);
  expect_undisturbed(scene.records(), weights);
}

TEST(KilledStorage, CostsNoStep) {
  ProcessScene scene;
  const std::string weights = undisturbed_weights(scene);
  Program& program = scene.start(train(scene, "run", run_to_disturb(2)));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  const auto storage = pid_like(scene, "internal-storage");
  ASSERT_TRUE(storage);
  ASSERT_TRUE(scene.kill_before(kSteps, *storage));
  ASSERT_EQ(program.wait(kRunLimit), 0);
  expect_undisturbed(scene.records(), weights);
}

// Storage cannot start without the record of the text, which nobody else reads again: the others train on; it saves
// when it is back.
TEST(KilledStorage, IsTriedAgainForAsLongAsTheRunGoesOn) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {2, 1, kEndless, {"checkpoint.every=20"}}));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  const auto storage = pid_like(scene, "internal-storage");
  ASSERT_TRUE(storage);
  const auto elsewhere = scene.folder() / "elsewhere";
  std::filesystem::rename(scene.run() / "text.sha256", elsewhere);
  ASSERT_EQ(::kill(*storage, SIGKILL), 0);
  ASSERT_TRUE(wait_until([&] { return has(program.err(), "storage: exit status"); }, kSoon)) << program.err();
  EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 50)) << program.err();
  const std::size_t saved = count_of(scene.records(), "checkpoint");
  std::filesystem::rename(elsewhere, scene.run() / "text.sha256");
  EXPECT_TRUE(wait_until([&] { return count_of(scene.records(), "checkpoint") > saved; }, kSoon)) << program.err();
  scene.stop(program);
}

// The nodes that serve a stage, by the events of the run.
std::vector<std::string> nodes_of_stage(const RunRecords& records, const std::string& stage) {
  std::vector<std::string> nodes;
  for (const EventLine& view : records.events) {
    const auto at = view.subject.find("(slot ");
    if (view.event != "view" || at == std::string::npos || !has(view.subject, "to stage " + stage)) continue;
    const auto process = view.subject.substr(view.subject.find("process ", at));
    const std::string number = process.substr(0, process.find(')')) + ",";
    for (const EventLine& joined : records.events) {
      if (joined.event == "joined" && has(joined.reason, number)) nodes.push_back(joined.subject);
    }
  }
  return nodes;
}

class KilledStage : public testing::TestWithParam<int> {};

TEST_P(KilledStage, SendsAllStagesBackInPlaceToTheSameBits) {
  ProcessScene scene;
  const std::string weights = undisturbed_weights(scene);
  Program& program = scene.start(train(scene, "run", run_to_disturb(GetParam())));
  ASSERT_TRUE(scene.wait_for_steps(60));  // beyond the first checkpoint
  const auto spawner = pid_like(scene, "internal-spawner");
  std::vector<pid_t> victims;
  for (const std::string& node : nodes_of_stage(scene.records(), "1")) {
    const auto worker = scene.worker_of(node);
    ASSERT_TRUE(worker);
    victims.push_back(worker->pid);
  }
  ASSERT_EQ(victims.size(), static_cast<std::size_t>(GetParam()));
  const double pause_ms = kill_and_wait_for_a_step(scene, victims);
  std::cout << "next step recorded after " << pause_ms << " ms\n";
  EXPECT_EQ(pid_like(scene, "internal-spawner"), spawner) << "the spawner goes on";
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  EXPECT_EQ(count_of(records, "rolled_back"), 1U);
  EXPECT_TRUE(has_branch(records, 0));
  EXPECT_TRUE(has_branch(records, 1));
  EXPECT_EQ(records.weights(), weights);
  EXPECT_EQ(records.steps.back().step, static_cast<std::uint64_t>(kSteps) - 1);
  EXPECT_FALSE(has(records.last_line, "\"lost_tokens\":0,")) << records.last_line;
}

INSTANTIATE_TEST_SUITE_P(Replicas, KilledStage, testing::Values(1, 2));

TEST(KilledSpawner, WithItsKeeperAndStorageLosesNothing) {
  ProcessScene scene;
  const std::string weights = undisturbed_weights(scene);
  Program& program = scene.start(train(scene, "run", run_to_disturb(2)));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  const auto keeper = pid_like(scene, "internal-keep-spawner");
  ASSERT_TRUE(keeper);
  ASSERT_TRUE(scene.kill_before(kSteps, *keeper));
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  expect_undisturbed(records, weights);
  EXPECT_EQ(count_of(records, "returned"), 4U) << "storage died with its keeper";
}

// The run begins, whatever of its journal is there by then.
TEST(KilledSpawner, WhileItMakesItsJournalBeginsAgain) {
  for (const char* file : {"journal.db", "journal.db-wal", "journal.db", "journal.db-wal", "spawner.json"}) {
    ProcessScene scene;
    Program& program = scene.start(train(scene, "run", {1, 1, kEndless, {}}));
    ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(scene.run() / file); }, kSoon));
    const auto spawner = pid_like(scene, "internal-spawner");
    ASSERT_TRUE(spawner);
    ASSERT_EQ(::kill(*spawner, SIGKILL), 0);
    EXPECT_TRUE(scene.wait_for_steps(2)) << "killed when it had made " << file;
    scene.stop(program);
    const auto records = scene.records();
    ASSERT_EQ(records.finals.size(), 1U);
    EXPECT_EQ(records.steps.size(), records.finals[0].steps);
  }
}

// The run is to be saved and to end with 75, whichever process dies on the way. It cannot be over before the kill:
// storage, which is to save it, stands still.
TEST(KilledSpawner, WhileItStopsIsStartedAgainToStop) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_disturb(2)));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  const auto spawner = pid_like(scene, "internal-spawner");
  const auto storage = pid_like(scene, "internal-storage");
  ASSERT_TRUE(spawner && storage);
  ASSERT_EQ(::kill(*storage, SIGSTOP), 0);
  program.signal(SIGTERM);
  ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "stopping") > 0; }, kSoon));
  ASSERT_EQ(::kill(*spawner, SIGKILL), 0);
  ASSERT_EQ(::kill(*storage, SIGCONT), 0);
  ASSERT_EQ(program.wait(kRunLimit), 75);
  const auto records = scene.records();
  ASSERT_EQ(records.finals.size(), 1U);
  EXPECT_EQ(records.finals[0].event, "stopped");
  EXPECT_EQ(records.finals[0].steps, records.steps.size());
  EXPECT_EQ(count_of(records, "rolled_back"), 0U);
  const auto saved = scene.run() / "checkpoints" / ("step_" + std::to_string(records.finals[0].steps));
  EXPECT_TRUE(std::filesystem::exists(saved / "manifest.json"));
}

using Words = std::vector<std::string>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Program& start_words(ProcessScene& scene, Words words, const std::string& folder) {
  ProgramStart start;
  start.arguments = std::move(words);
  start.folder = scene.make_folder(folder);
  return scene.start_program(std::move(start));
}

Words spawner_of(const ProcessScene& scene, const std::string& listen) {
  return Words{shoal_program(), "spawner", "--out", scene.run().string(), "--listen", listen} +
         settings_of(scene, run_to_disturb(1));
}

// The line to paste, once it is printed: shoal node --join ADDRESS --token TOKEN.
Words join_words(const Program& spawner) { return Words{shoal_program()} + wait_for_join_words(spawner); }

void kill_spawner_and_all_beside_it(const ProcessScene& scene, const Program& keeper) {
  ASSERT_TRUE(scene.kill_before(kSteps, keeper.pid()));
  ASSERT_TRUE(wait_until([&] { return named_like(scene.processes(), "internal-s").empty(); }, kSoon));
}

void expect_nothing_lost(const RunRecords& records, const std::string& weights) {
  expect_undisturbed(records, weights);
}

// Two nodes that train on for a while without a spawner: it, its keeper and storage were killed.
struct LeftNodes {
  Words join;
  std::vector<Program*> nodes;
  Words resume;
};

void leave_nodes_alone(ProcessScene& scene, LeftNodes& left) {
  Program& boss = start_words(scene, spawner_of(scene, "127.0.0.1:0"), "boss");
  left.join = join_words(boss);
  for (const std::string name : {"one", "two"}) {
    left.nodes.push_back(&start_words(scene, left.join + Words{"--name", name}, "of-" + name));
  }
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  ASSERT_NO_FATAL_FAILURE(kill_spawner_and_all_beside_it(scene, boss));
  left.resume = {shoal_program(), "spawner", "--resume", scene.run().string()};
}

void resume_to_the_end(ProcessScene& scene, const LeftNodes& left) {
  Program& again = start_words(scene, left.resume, "again");
  ASSERT_EQ(again.wait(kRunLimit), 0) << again.err();
  for (Program* node : left.nodes) EXPECT_EQ(node->wait(kSoon), 0) << node->err();
}

// A person starts it again while the nodes still run.
TEST(KilledSpawner, IsResumedByHandAndItsNodesFindIt) {
  ProcessScene scene;
  const std::string weights = undisturbed_weights(scene);
  LeftNodes left;
  ASSERT_NO_FATAL_FAILURE(leave_nodes_alone(scene, left));
  ASSERT_NO_FATAL_FAILURE(resume_to_the_end(scene, left));
  expect_nothing_lost(scene.records(), weights);
}

// The obstacle of a first try has gone at the second: nodes still look where the spawner was before both.
TEST(KilledSpawner, IsFoundByItsNodesAfterAStartInVain) {
  ProcessScene scene;
  LeftNodes left;
  ASSERT_NO_FATAL_FAILURE(leave_nodes_alone(scene, left));
  const auto address = parse_host_port(left.join.at(3));
  ASSERT_TRUE(address.ok());
  {
    const TakenPort taken(address->port);
    Program& in_vain = start_words(scene, left.resume, "in-vain");
    ASSERT_EQ(in_vain.wait(kRunLimit), 2) << in_vain.err();
  }
  ASSERT_NO_FATAL_FAILURE(resume_to_the_end(scene, left));
  const auto records = scene.records();
  expect_every_line_once(records);
  EXPECT_EQ(count_of(records, "rolled_back"), 0U) << "they came back with what they had";
}

std::string free_address(const std::string& host) {
  const auto listening = listen_on({host, 0});
  EXPECT_TRUE(listening.ok());
  return host_port_text({host, local_port(listening->descriptor())});
}

// The spawner's machine is gone for good: a copy of the run directory goes on at another address, told to the nodes.
TEST(KilledSpawner, GoesOnElsewhereFromACopyOfItsDirectory) {
  ProcessScene scene;
  const std::string weights = undisturbed_weights(scene);
  const std::string elsewhere = free_address("127.0.0.3");
  Program& boss = start_words(scene, spawner_of(scene, "127.0.0.2:0"), "boss");
  const Words join = join_words(boss);
  std::vector<Program*> nodes;
  for (const std::string name : {"one", "two"}) {
    nodes.push_back(&start_words(scene, join + Words{"--join", elsewhere, "--name", name}, "of-" + name));
  }
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  ASSERT_NO_FATAL_FAILURE(kill_spawner_and_all_beside_it(scene, boss));
  std::filesystem::copy(scene.run(), scene.run("copy"), std::filesystem::copy_options::recursive);
  Program& again = start_words(
      scene, {shoal_program(), "spawner", "--resume", scene.run("copy").string(), "--listen", elsewhere}, "again");
  ASSERT_EQ(again.wait(kRunLimit), 0) << again.err();
  for (Program* node : nodes) EXPECT_EQ(node->wait(kSoon), 0) << node->err();
  expect_nothing_lost(scene.records("copy"), weights);
}

}  // namespace
}  // namespace shoal::return_test
