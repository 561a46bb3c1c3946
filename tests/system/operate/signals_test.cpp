// The first signal saves and ends, the second ends at once, and nothing outlives its keeper, however that dies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ostream>
#include <utility>

#include "tests/support/process_scene.h"
#include "tests/support/taken_port.h"
#include "tests/system/operate/terminal.h"

namespace shoal::signals_test {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kAtOnce{20'000};
constexpr Milliseconds kGoneSoon{15'000};

struct Case {
  const char* name;
  int signal;
  int first_status;
  int second_status;
};
std::ostream& operator<<(std::ostream& out, const Case& tested) { return out << tested.name; }

class Signals : public testing::TestWithParam<Case> {};

void expect_saved(const ProcessScene& scene) {
  const auto records = scene.records();
  ASSERT_EQ(records.finals.size(), 1U);
  const FinalLine& stopped = records.finals.back();
  EXPECT_EQ(stopped.event, "stopped");
  EXPECT_EQ(stopped.text, records.last_line);
  EXPECT_EQ(stopped.steps, records.steps.size());
  EXPECT_EQ(stopped.weights_sha256.size(), 64U);
  const fs::path checkpoint = scene.run() / "checkpoints" / ("step_" + std::to_string(stopped.steps));
  EXPECT_TRUE(fs::exists(checkpoint / "manifest.json")) << checkpoint;
}

void expect_first_signal_saves(const std::vector<std::string>& words) {
  ProcessScene scene;
  const Case& tested = Signals::GetParam();
  Program& program = scene.start(train(scene, "run", {2, 2, kEndless, {}}, words));
  ASSERT_TRUE(scene.wait_for_steps(3));
  program.signal(tested.signal);
  EXPECT_EQ(program.wait(kRunLimit), tested.first_status);
  EXPECT_TRUE(scene.wait_until_all_gone(kAtOnce)) << describe(scene.processes());
  expect_saved(scene);
}

TEST_P(Signals, TheFirstSavesAndEnds) { expect_first_signal_saves({}); }

TEST_P(Signals, TheFirstSavesAndEndsASingleProcess) { expect_first_signal_saves({"--single"}); }

// The run cannot be saved before the second signal: storage stands still.
TEST_P(Signals, TheSecondEndsAtOnce) {
  ProcessScene scene;
  const Case& tested = GetParam();
  Program& program = scene.start(train(scene, "run", {2, 2, kEndless, {}}));
  ASSERT_TRUE(scene.wait_for_steps(3));
  const auto storage = named_like(scene.processes(), "internal-storage");
  ASSERT_EQ(storage.size(), 1U);
  ASSERT_EQ(::kill(storage.front().pid, SIGSTOP), 0);
  send_twice(program, tested.signal, kRunLimit);
  EXPECT_EQ(program.wait(kAtOnce), tested.second_status);
  EXPECT_TRUE(scene.wait_until_all_gone(kAtOnce)) << describe(scene.processes());
}

// Steps of about a second, so that the second signal meets the step that the first one lets finish.
TEST_P(Signals, TheSecondEndsASingleProcessAtOnce) {
  ProcessScene scene;
  const Case& tested = GetParam();
  const std::vector<std::string> sets = {"model.width=256", "batch.sequences=256", "batch.microbatch=4"};
  Program& program = scene.start(train(scene, "run", {1, 1, kEndless, sets}, {"--single"}));
  ASSERT_TRUE(scene.wait_for_steps(1));
  send_twice(program, tested.signal, kRunLimit);
  EXPECT_EQ(program.wait(kAtOnce), tested.second_status);
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, Signals,
                         testing::Values(Case{"Interrupt", SIGINT, 130, 130}, Case{"Terminate", SIGTERM, 75, 143},
                                         Case{"User1", SIGUSR1, 75, 143}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// A terminal that closes sends it twice: from the shell and from the kernel.
TEST(Signals, ATerminalThatClosesIsTheFirstSignal) {
  for (const auto& words : {std::vector<std::string>{}, {"--single"}}) {
    ProcessScene scene;
    Program& program = scene.start(train(scene, "run", {2, 2, kEndless, {}}, words));
    ASSERT_TRUE(scene.wait_for_steps(3));
    send_twice(program, SIGHUP, kRunLimit);
    EXPECT_EQ(program.wait(kRunLimit), 75);
    EXPECT_TRUE(scene.wait_until_all_gone(kAtOnce)) << describe(scene.processes());
    expect_saved(scene);
    const std::string how = words.empty() ? "shoal train --resume " : "shoal train --single --resume ";
    EXPECT_NE(program.err().find("go on with: " + how + scene.run().string()), std::string::npos) << program.err();
  }
}

TEST(Signals, UnderNohupATerminalThatClosesChangesNothing) {
  for (const auto& words : {std::vector<std::string>{}, {"--single"}}) {
    ProcessScene scene;
    ProgramStart start;
    start.arguments = train(scene, "run", {2, 2, kEndless, {}}, words);
    start.arguments.insert(start.arguments.begin(), {"nohup", shoal_program()});
    Program& program = scene.start_program(start);
    ASSERT_TRUE(scene.wait_for_steps(3));
    program.signal(SIGHUP);
    ASSERT_TRUE(wait_until([&] { return !is_signal_pending(program.pid(), SIGHUP); }, kAtOnce));
    EXPECT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
    EXPECT_TRUE(scene.records().finals.empty());
    scene.stop(program);
  }
}

// Starts `shoal` with these words, whose stderr is a pipe that nobody reads any more after its first line.
Program& start_with_short_reader(ProcessScene& scene, const std::vector<std::string>& words) {
  const auto [program, reader] = start_piped(scene, words);
  std::string said;
  const auto has_line = [&] {
    char buffer[512];
    const auto count = ::read(reader, buffer, sizeof buffer);
    if (count > 0) said.append(buffer, static_cast<std::size_t>(count));
    return said.find('\n') != std::string::npos;
  };
  EXPECT_TRUE(wait_until(has_line, kRunLimit)) << said;
  ::close(reader);
  return program;
}

// As in `shoal train 2>&1 | head -1`: the status is that of the run.
TEST(Signals, OneWhereNobodyReadsTheWordsSaves) {
  for (const auto& words : {std::vector<std::string>{}, {"--single"}}) {
    ProcessScene scene;
    Program& program = start_with_short_reader(scene, train(scene, "run", {1, 1, kEndless, {}}, words));
    ASSERT_TRUE(scene.wait_for_steps(3));
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(kRunLimit), 75);
    expect_saved(scene);
    EXPECT_TRUE(fs::exists(scene.run() / "plot.svg"));
  }
}

TEST(Signals, OfAPipeThatNobodyReadsDoNotEndASpawnerThatFinishes) {
  ProcessScene scene;
  std::vector<std::string> words = {"spawner", "--out", scene.run().string(), "--steps", "3"};
  for (const std::string& word : settings_of(scene, {1, 1, 3, {}})) words.push_back(word);
  Program& spawner = start_with_short_reader(scene, words);
  const auto join = wait_for_join_words(spawner);
  ASSERT_FALSE(join.empty());
  scene.start(join);
  EXPECT_EQ(spawner.wait(kRunLimit), 0);
  EXPECT_EQ(scene.records().finals.back().event, "finished");
  EXPECT_TRUE(scene.wait_until_all_gone(kAtOnce)) << describe(scene.processes());
}

TEST(Signals, BeforeTheFirstStepLeaveNothingEither) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {2, 2, kEndless, {}}));
  ASSERT_TRUE(wait_until([&] { return !named_like(scene.processes(), "shoal-worker node").empty(); }, kRunLimit));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(kRunLimit), 130);
  EXPECT_TRUE(scene.wait_until_all_gone(kAtOnce)) << describe(scene.processes());
}

// The run is finished and saved.
TEST(Signals, DuringTheClosingSampleChangeNothing) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {1, 1, 4, {}}));
  ASSERT_TRUE(wait_until(
      [&] { return program.wait(Milliseconds(0)) || !named_like(scene.processes(), "shoal-worker sample").empty(); },
      kRunLimit));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(kAtOnce), 0) << program.err();
  EXPECT_EQ(scene.records().finals.back().event, "finished");
}

// Starts a spawner whose run finishes. The lines of the run are a pipe then, whose reader waits for a writer, as for a
// slow disk. The keeper stands still until that is so.
Program& spawner_that_draws(ProcessScene& scene) {
  std::vector<std::string> words = {"spawner", "--out", scene.run().string(), "--steps", "3"};
  for (const std::string& word : settings_of(scene, {1, 1, 3, {}})) words.push_back(word);
  Program& spawner = scene.start(words);
  const auto join = wait_for_join_words(spawner);
  EXPECT_FALSE(join.empty()) << spawner.err();
  if (join.empty()) return spawner;
  spawner.signal(SIGSTOP);
  scene.start(join);
  const auto is_alone = [&] { return named_like(scene.processes(), "internal-spawner").empty(); };
  EXPECT_TRUE(wait_until(is_alone, kRunLimit)) << describe(scene.processes());
  EXPECT_EQ(scene.records().finals.back().event, "finished");
  const fs::path lines = scene.run() / "metrics.jsonl";
  fs::rename(lines, scene.folder() / "lines");
  EXPECT_EQ(::mkfifo(lines.c_str(), 0600), 0);
  spawner.signal(SIGCONT);
  const auto is_drawing = [&] { return scene.processes().size() == 1; };
  EXPECT_TRUE(wait_until(is_drawing, kRunLimit)) << describe(scene.processes());
  return spawner;
}

TEST(Signals, OneWhileAFinishedSpawnerDrawsChangesNothing) {
  ProcessScene scene;
  Program& spawner = spawner_that_draws(scene);
  const fs::path lines = scene.run() / "metrics.jsonl";
  spawner.signal(SIGTERM);
  EXPECT_FALSE(spawner.wait(Milliseconds(500)));
  const int writer = ::open(lines.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_GE(writer, 0) << "it does not read";
  ::close(writer);
  fs::rename(scene.folder() / "lines", lines);
  EXPECT_EQ(spawner.wait(kAtOnce), 0) << spawner.err();
}

TEST(Signals, TheSecondWhileAFinishedSpawnerDrawsEndsItAtOnce) {
  ProcessScene scene;
  Program& spawner = spawner_that_draws(scene);
  send_twice(spawner, SIGTERM, kRunLimit);
  EXPECT_EQ(spawner.wait(kAtOnce), 0) << spawner.err();
}

TEST(Signals, WhileASpawnerWaitsForItsPortEndItWithTheirStatus) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", {1, 1, 20, {}}, {"--single", "--steps", "2"})), 0);
  for (const auto& [signal, status] : {std::pair{SIGINT, 130}, {SIGTERM, 75}}) {
    const TakenPort port;
    const std::string address = "127.0.0.1:" + std::to_string(port.number());
    Program& program = scene.start({"spawner", "--resume", scene.run().string(), "--listen", address});
    const auto is_waiting = [&] {
      const auto spawner = named_like(scene.processes(), "internal-spawner");
      return !spawner.empty() && is_signal_blocked(spawner.front().pid, signal);
    };
    ASSERT_TRUE(wait_until(is_waiting, kRunLimit)) << program.err();
    program.signal(signal);
    EXPECT_EQ(program.wait(kAtOnce), status) << program.err();
  }
}

int folders_of_nodes(const ProcessScene& scene) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scene.run() / "certs")) {
    count += entry.path().filename().string().starts_with("shoal-node-") ? 1 : 0;
  }
  return count;
}

TEST(Signals, KilledKeeperTakesEverythingWithIt) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {2, 2, kEndless, {}}));
  ASSERT_TRUE(scene.wait_for_steps(3));
  // The keeper of the run, that of the spawner, the spawner, storage, four keepers of nodes with a worker each.
  EXPECT_EQ(scene.processes().size(), 12U) << describe(scene.processes());
  EXPECT_EQ(descendants_of(scene.processes(), program.pid()).size(), 11U);
  program.signal(SIGKILL);
  ASSERT_EQ(program.wait(kAtOnce), 128 + SIGKILL);
  EXPECT_TRUE(scene.wait_until_all_gone(kGoneSoon)) << describe(scene.processes());
  // The folders that admitted its nodes were left; the start that goes on removes them.
  EXPECT_EQ(folders_of_nodes(scene), 4);
  const std::size_t steps = scene.records().steps.size() + 2;
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--steps", std::to_string(steps)}), 0);
  EXPECT_EQ(folders_of_nodes(scene), 0);
}

}  // namespace
}  // namespace shoal::signals_test
