// A process of its own for each signal: what it does with it cannot be undone.
#include "launch/processes/polite_stop.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <vector>

#include "launch/stop_signals.h"

namespace shoal::polite_stop_test {
namespace {

constexpr int kNotAsked = 1;

// Returns the exit status of a process of its own; 128 + the signal that ended it.
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

// The same after a first signal, and another again and again until that ends the process, or for a while.
int status_pressed(int first, int second) {
  return status_of([&] {
    watch_for_stop();
    ::raise(first);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < limit) ::raise(second);
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
  EXPECT_EQ(status_pressed(SIGTERM, SIGINT), 130);
  EXPECT_EQ(status_pressed(SIGHUP, SIGTERM), 143);
}

TEST(PoliteStop, SignalsAtOnceAreOneWish) {
  EXPECT_EQ(status_after({SIGTERM, SIGTERM}), 75);
  EXPECT_EQ(status_after({SIGINT, SIGTERM}), 130);
}

TEST(StopSignals, PressOnlyWhenAPersonCouldHaveSaidItTwice) {
  EXPECT_FALSE(is_pressing(SIGTERM, {}));
  EXPECT_FALSE(is_pressing(SIGINT, kOneWish - std::chrono::nanoseconds(1)));
  EXPECT_TRUE(is_pressing(SIGINT, kOneWish));
  EXPECT_FALSE(is_pressing(SIGHUP, std::chrono::hours(1)));
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

TEST(StopSignals, EndAProcessThatHasNothingToSaveWithTheStatusOfASavedOne) {
  const auto status_of_one = [](int signal, sighandler_t hangup) {
    return status_of([&] {
      ::signal(SIGHUP, hangup);
      end_at_stop_signals();
      ::raise(signal);
      return kNotAsked;
    });
  };
  EXPECT_EQ(status_of_one(SIGINT, SIG_DFL), 130);
  for (const int signal : {SIGTERM, SIGUSR1, SIGHUP}) EXPECT_EQ(status_of_one(signal, SIG_DFL), 75) << signal;
  EXPECT_EQ(status_of_one(SIGHUP, SIG_IGN), kNotAsked) << "under nohup";
}

}  // namespace
}  // namespace shoal::polite_stop_test
