// One process is killed fifteen times within a minute, each time as soon as it is back: more often than a process that
// fails by itself may. The run goes on to the same bits; what dies before its start is over is given up all the same.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>

#include "tests/support/process_scene.h"

namespace shoal::shaken_test {
namespace {

constexpr int kKills = 15;
constexpr Milliseconds kSoon{30'000};

using Clock = std::chrono::steady_clock;

SmallRun run_to_shake() { return {2, 2, kEndless, {"sync.reduction=exact", "checkpoint.every=50"}}; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::ptrdiff_t joins_of(const ProcessScene& scene, const std::string& node) {
  return std::ranges::count_if(scene.records().events, [&](const EventLine& line) {
    return (line.event == "joined" || line.event == "returned") && line.subject == node;
  });
}

std::size_t resumptions(const ProcessScene& scene) {
  return static_cast<std::size_t>(
      std::ranges::count_if(scene.records().events, [](const EventLine& line) { return line.event == "resumed"; }));
}

void expect_equal_bits(ProcessScene& scene, Program& program) {
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
  ASSERT_TRUE(scene.stop_and_repeat_single(program, run_to_shake()));
  EXPECT_EQ(scene.records().steps.size(), scene.records("single").steps.size());
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

void tell(const char* what, Clock::time_point begun) {
  std::cout << what << " was killed " << kKills << " times within "
            << std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begun).count() << " s\n";
}

TEST(Shaken, AWorkerComesBackAsOftenAsItIsKilled) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_shake()));
  ASSERT_TRUE(scene.wait_for_steps(5));
  const auto begun = Clock::now();
  for (int kills = 0; kills < kKills; ++kills) {
    ASSERT_TRUE(wait_until([&] { return joins_of(scene, "node2") == kills + 1; }, kSoon)) << "after " << kills;
    const auto worker = scene.worker_of("node2");
    ASSERT_TRUE(worker);
    ASSERT_EQ(::kill(worker->pid, SIGKILL), 0);
  }
  tell("a worker", begun);
  EXPECT_TRUE(wait_until([&] { return joins_of(scene, "node2") == kKills + 1; }, kSoon));
  expect_equal_bits(scene, program);
}

TEST(Shaken, ASpawnerComesBackAsOftenAsItIsKilled) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_shake()));
  ASSERT_TRUE(scene.wait_for_steps(5));
  const auto begun = Clock::now();
  std::set<pid_t> killed;
  for (std::size_t kills = 0; kills < kKills; ++kills) {
    ASSERT_TRUE(wait_until([&] { return resumptions(scene) >= kills; }, kSoon)) << "after " << kills;
    const auto spawners = named_like(scene.processes(), "internal-spawner");
    ASSERT_EQ(spawners.size(), 1U);
    ASSERT_TRUE(killed.insert(spawners.front().pid).second);
    ASSERT_EQ(::kill(spawners.front().pid, SIGKILL), 0);
  }
  tell("the spawner", begun);
  expect_equal_bits(scene, program);
}

// The control: killed as soon as there is a process at all.
TEST(Shaken, AWorkerThatDiesAtEachStartIsGivenUp) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_shake()));
  ASSERT_TRUE(scene.wait_for_steps(5));
  const auto is_given_up = [&] {
    if (const auto worker = scene.worker_of("node2")) ::kill(worker->pid, SIGKILL);
    return has(read_all(scene.run() / "logs" / "node2.log"), "restarted 10 times within 60 s, each time in vain");
  };
  EXPECT_TRUE(wait_until(is_given_up, 2 * kSoon));
  EXPECT_LE(joins_of(scene, "node2"), 1);
  expect_equal_bits(scene, program);
}

}  // namespace
}  // namespace shoal::shaken_test
