// Words that nobody reads, as in a pager, behind Ctrl-S or over ssh from a machine that sleeps, hold up no process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/system/operate/terminal.h"

namespace shoal::unread_words_test {
namespace {

constexpr int kPipeBytes = 4096;
constexpr Milliseconds kAtOnce{20'000};
constexpr int kSteps = 900;  // whose lines have no room in a pipe, nor in the programs

std::vector<std::string> training(const ProcessScene& scene, int steps) {
  return train(scene, "run", {1, 1, steps, {"log.every=1"}});
}

// Its pipe has room for a few lines, and stays full.
PipedProgram start_unread(ProcessScene& scene, int steps) {
  const auto started = start_piped(scene, training(scene, steps));
  EXPECT_GT(::fcntl(started.reader, F_SETPIPE_SZ, kPipeBytes), 0);
  return started;
}

TEST(UnreadWords, HoldUpNeitherTheRunNorItsLinesNorAKeeper) {
  ProcessScene scene;
  const auto [program, reader] = start_unread(scene, kSteps);
  ASSERT_TRUE(scene.wait_for_steps(100));
  const auto spawner = named_like(scene.processes(), "internal-spawner");
  ASSERT_EQ(spawner.size(), 1U);
  ASSERT_TRUE(scene.kill_before(kSteps, spawner.front().pid));
  EXPECT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  EXPECT_EQ(records.steps.size(), kSteps);
  ASSERT_EQ(records.finals.size(), 1U);
  EXPECT_EQ(records.finals.back().event, "finished");
  ::close(reader);
}

TEST(UnreadWords, DoNotHoldUpASecondSignal) {
  ProcessScene scene;
  const auto [program, reader] = start_unread(scene, kEndless);
  ASSERT_TRUE(scene.wait_for_steps(kSteps));
  const auto storage = named_like(scene.processes(), "internal-storage");
  ASSERT_EQ(storage.size(), 1U);
  ASSERT_EQ(::kill(storage.front().pid, SIGSTOP), 0);  // the first signal cannot save
  send_twice(program, SIGINT, kAtOnce);
  EXPECT_EQ(program.status(), 130);
  EXPECT_TRUE(scene.wait_until_all_gone(kAtOnce)) << describe(scene.processes());
  ::close(reader);
}

// `stty tostop` stops a process of the terminal's background that writes to it, and keepers' children are there.
TEST(UnreadWords, OfTheBackgroundOfATerminalStopNobody) {
  ProcessScene scene;
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_TRUE(::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  const std::string in_it = "stty tostop; exec \"$0\" \"$@\"";
  ProgramStart start;
  start.arguments = {
      "/bin/sh", "-c",
      "exec setsid --wait --ctty /bin/sh -c '" + in_it + "' \"$0\" \"$@\" <" + name + " >" + name + " 2>&1",
      shoal_program()};
  for (const std::string& word : training(scene, 20)) start.arguments.push_back(word);
  Program& program = scene.start_program(start);
  EXPECT_EQ(program.wait(kRunLimit), 0);
  EXPECT_EQ(scene.records().steps.size(), 20U);
  ::close(terminal);
}

}  // namespace
}  // namespace shoal::unread_words_test
