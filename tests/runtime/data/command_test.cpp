// Programs are run as given: no shell, no questions, every end told.
#include "runtime/data/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::command_test {
namespace {

Command command(const Scratch& scratch, std::vector<std::string> arguments) {
  return Command{.arguments = std::move(arguments),
                 .folder = scratch.path(),
                 .output = scratch.path() / "out",
                 .errors = scratch.path() / "err",
                 .environment = {}};
}

std::string text_of(const Scratch& scratch, const char* name) { return *read_file((scratch.path() / name).string()); }

// A zombie that its new parent has not reaped yet runs no more.
bool is_running(pid_t process) {
  const auto status = read_file(compose("/proc/", process, "/stat"));
  return status.ok() && status->find(") Z ") == std::string::npos;
}

TEST(RunCommand, PassesArgumentsAsTheyAre) {
  const Scratch scratch;
  const auto status = run_command(command(scratch, {"printf", "%s\n", "a b; $(exit 3) `true` > x", "'\""}));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(*status, 0);
  EXPECT_EQ(text_of(scratch, "out"), "a b; $(exit 3) `true` > x\n'\"\n");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "x"));
}

TEST(RunCommand, TellsExitStatusAndSignal) {
  const Scratch scratch;
  EXPECT_EQ(*run_command(command(scratch, {"sh", "-c", "echo bad >&2; exit 7"})), 7);
  EXPECT_EQ(text_of(scratch, "err"), "bad\n");
  EXPECT_EQ(*run_command(command(scratch, {"sh", "-c", "kill -KILL $$"})), 128 + 9);
}

TEST(RunCommand, RunsInItsFolderWithItsEnvironmentAndNoInput) {
  const Scratch scratch;
  Command shell = command(scratch, {"sh", "-c", "pwd -P; echo $COLOUR $LC_ALL; cat"});
  shell.environment = {"COLOUR=blue"};
  const Setting ours("COLOUR", "red");
  ASSERT_EQ(*run_command(shell), 0);
  EXPECT_EQ(text_of(scratch, "out"), std::filesystem::canonical(scratch.path()).string() + "\nblue C\n");
}

TEST(RunCommand, StartsWithoutBlockedSignals) {
  const Scratch scratch;
  sigset_t interrupt;
  sigset_t before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &interrupt, &before), 0);
  EXPECT_EQ(*run_command(command(scratch, {"sh", "-c", "kill -INT $$"})), 128 + SIGINT);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The caller may be killed: what it started goes with it.
TEST(RunCommand, DoesNotOutliveWhoRunsIt) {
  const Scratch scratch;
  const pid_t asker = ::fork();
  if (asker == 0) {
    (void)run_command(command(scratch, {"sh", "-c", "echo $$ > pid; exec sleep 300"}));
    ::_exit(0);
  }
  ASSERT_GT(asker, 0);
  const std::string file = (scratch.path() / "pid").string();
  std::string text;
  while (!text.ends_with('\n')) {
    const auto read = read_file(file);
    if (read.ok()) text = *read;
    std::this_thread::yield();
  }
  ::kill(asker, SIGKILL);
  ::waitpid(asker, nullptr, 0);
  const pid_t program = std::stoi(text);
  while (is_running(program)) std::this_thread::yield();  // the test's time limit is what fails
}

TEST(RunCommand, NamesAProgramThatIsNotThere) {
  const Scratch scratch;
  const auto status = run_command(command(scratch, {"no-such-program-at-all"}));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.failure().message.find("no-such-program-at-all"), std::string::npos);
}

}  // namespace
}  // namespace shoal::command_test
