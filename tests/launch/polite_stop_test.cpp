// A process of its own for each signal: what it does with it cannot be undone.
#include "launch/processes/polite_stop.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <vector>

namespace shoal {
namespace {

constexpr int kNotAsked = 1;

// What a process of its own ends with; 128 and the signal that ended it.
int status_of(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The end that is asked for after these signals, and what SIGHUP meant before, also under nohup.
int status_after(const std::vector<int>& signals, sighandler_t hangup = SIG_DFL) {
  return status_of([&] {
    ::signal(SIGHUP, hangup);
    watch_for_stop();
    for (const int signal : signals) ::raise(signal);
    return stop_status().value_or(kNotAsked);
  });
}

TEST(PoliteStop, TheFirstSignalIsAWish) {
  EXPECT_EQ(status_after({}), kNotAsked);
  EXPECT_EQ(status_after({SIGINT}), 130);
  EXPECT_EQ(status_after({SIGTERM}), 75);
  EXPECT_EQ(status_after({SIGUSR1}), 75);
  EXPECT_EQ(status_after({SIGHUP}), 75) << "the terminal was closed";
}

TEST(PoliteStop, TheSecondEndsAtOnce) {
  EXPECT_EQ(status_after({SIGTERM, SIGINT}), 130);
  EXPECT_EQ(status_after({SIGHUP, SIGTERM}), 143);
}

// The shell passes the end of its terminal on, and the kernel tells of it, too.
TEST(PoliteStop, ATerminalThatClosesSaysItMoreThanOnce) {
  EXPECT_EQ(status_after({SIGHUP, SIGHUP}), 75);
  EXPECT_EQ(status_after({SIGINT, SIGHUP}), 130) << "interrupted, then closed: it goes on saving";
}

TEST(PoliteStop, WhoWasToldToOutliveTheTerminalDoes) {
  EXPECT_EQ(status_after({SIGHUP}, SIG_IGN), kNotAsked);
  EXPECT_EQ(status_after({SIGHUP, SIGTERM}, SIG_IGN), 75);
}

TEST(PoliteStop, WordsThatNobodyReadsEndNothing) {
  EXPECT_EQ(status_of([] {
              watch_for_stop();
              int ends[2];
              if (::pipe(ends) != 0) return 2;
              ::close(ends[0]);
              return ::write(ends[1], "step", 4) < 0 ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace shoal
