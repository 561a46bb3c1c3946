// A user who may have few threads is told so in one sentence, by a command that ends; and every process of a run has no
// more threads than a start asks for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/machine/thread_room.h"
#include "tests/support/process_scene.h"

namespace shoal::threads_test {
namespace {

// The kernel does not hold root to the limit: a root's test is nobody's.
ProgramStart with_limit(const ProcessScene& scene, int processes, const std::vector<std::string>& words) {
  std::filesystem::permissions(scene.run().parent_path(), std::filesystem::perms::all);
  ProgramStart start;
  const std::string as_nobody = ::getuid() == 0 ? "exec setpriv --reuid 65534 --regid 65534 --clear-groups " : "exec ";
  start.arguments = {"/bin/bash", "-c", "ulimit -u " + std::to_string(processes) + "; " + as_nobody + "\"$0\" \"$@\"",
                     shoal_program()};
  start.arguments.insert(start.arguments.end(), words.begin(), words.end());
  return start;
}

bool is_told(const Program& program) {
  return program.err().find("the system gives no more threads or processes: ") != std::string::npos;
}

TEST(Threads, ThatTheSystemRefusesEndACommandWithASentence) {
  ProcessScene scene;
  const auto run = train(scene, "run", {2, 2, 2, {}});
  for (const int limit : {2, 12, 30, 60}) {
    Program& program = scene.start_program(with_limit(scene, limit, run));
    EXPECT_EQ(program.wait(Milliseconds(20'000)), 2) << limit << ": " << program.err();
    EXPECT_TRUE(is_told(program)) << limit << ": " << program.err();
    EXPECT_FALSE(std::filesystem::exists(scene.run() / "config.toml")) << "a command that cannot begin leaves nothing";
  }
  Program& node = scene.start_program(
      with_limit(scene, 12, {"node", "--join", "127.0.0.1:1", "--token", "shoal1-none", "--name", "node1"}));
  EXPECT_EQ(node.wait(Milliseconds(20'000)), 2) << node.err();
  EXPECT_TRUE(is_told(node)) << node.err();
}

// One process with eight compute threads, and what asks its model: without room for them each says so, and a run that
// cannot begin leaves nothing.
TEST(Threads, ThatOneProcessLacksEndItWithASentence) {
  ProcessScene scene;
  const SmallRun small{1, 1, 2, {"run.threads=8"}};
  constexpr int kOthers = static_cast<int>(threads_to_compute(8));  // beside the first
  const auto started_with = [&scene](int limit, const std::vector<std::string>& words) -> Program& {
    return scene.start_program(with_limit(scene, limit, words));
  };
  const auto refused = train(scene, "refused", small, {"--single"});
  Program& lacking = started_with(4, refused);
  EXPECT_EQ(lacking.wait(Milliseconds(20'000)), 2) << lacking.err();
  EXPECT_TRUE(is_told(lacking)) << lacking.err();
  EXPECT_FALSE(std::filesystem::exists(scene.run("refused") / "config.toml"));
  Program& enough = started_with(1 + kOthers, train(scene, "run", small, {"--single"}));
  ASSERT_EQ(enough.wait(kRunLimit), 0) << "control: " << enough.err();
  const std::string run = scene.run();
  for (const auto& words : {std::vector<std::string>{"eval", run, "--batches", "1"},
                            std::vector<std::string>{"sample", run, "--prompt", "a", "--tokens", "2"}}) {
    for (const int limit : {1, 4, kOthers}) {
      Program& asking = started_with(limit, words);
      EXPECT_EQ(asking.wait(Milliseconds(20'000)), 2) << words[0] << " " << limit << ": " << asking.err();
      EXPECT_TRUE(is_told(asking)) << words[0] << " " << limit << ": " << asking.err();
    }
    Program& answered = started_with(1 + kOthers, words);
    EXPECT_EQ(answered.wait(kRunLimit), 0) << "control: " << words[0] << ": " << answered.err();
  }
}

std::size_t threads_of(pid_t pid) {
  std::error_code gone;
  std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", gone);
  return gone ? 0 : static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Threads, OfAProcessAreThoseThatAStartAsksFor) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {2, 2, kEndless, {}}));
  ASSERT_TRUE(scene.wait_for_steps(5));
  for (const auto& [words, wanted] : {std::pair{"internal-spawner", kThreadsOfSpawner},
                                      {"internal-storage", kThreadsOfStorage},
                                      {"shoal-worker node", kThreadsOfWorker},
                                      {"shoal node", kThreadsOfKeeper},
                                      {"internal-keep-spawner", kThreadsOfKeeper}}) {
    const auto found = named_like(scene.processes(), words);
    ASSERT_FALSE(found.empty()) << words;
    for (const ProcessEntry& process : found) {
      const std::size_t threads = threads_of(process.pid);
      EXPECT_LE(threads, wanted) << words;
      EXPECT_GE(threads + 2, wanted) << words << ": the constant asks for more than it has";
    }
  }
  (void)scene.stop(program);
}

}  // namespace
}  // namespace shoal::threads_test
