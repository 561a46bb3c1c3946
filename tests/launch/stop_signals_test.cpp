// Tests what signals do to a process that has its status already, and finishes something that may hang.
#include "launch/stop_signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace shoal::stop_signals_test {
namespace {

constexpr int kStatus = 7;
constexpr int kHasHung = 9;
constexpr int kLongerThanAWishMs = static_cast<int>(2 * kOneWish.count());
constexpr int kHangsForMs = 500;

bool is_waiting(int signal) {
  sigset_t waiting;
  ::sigpending(&waiting);
  return ::sigismember(&waiting, signal) == 1;
}

// Hangs for a while in a child of the test, and gets these signals, each a wish's time after the one before was taken.
void hang(bool was_asked, const std::vector<int>& signals) {
  std::signal(SIGHUP, SIG_DFL);  // nohup ignores it
  block_stop_signals();
  const SecondSignalWatch watch(kStatus, was_asked);
  for (const int signal : signals) {
    ::kill(::getpid(), signal);
    while (is_waiting(signal)) ::poll(nullptr, 0, 1);
    ::poll(nullptr, 0, kLongerThanAWishMs);
  }
  ::poll(nullptr, 0, kHangsForMs);
  ::_exit(kHasHung);
}

TEST(SecondSignalWatchDeathTest, EndsAtTheSecondWithTheStatusThatThereIs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hang(false, {SIGTERM, SIGTERM}), testing::ExitedWithCode(kStatus), "");
  EXPECT_EXIT(hang(false, {SIGHUP, SIGINT}), testing::ExitedWithCode(kStatus), "");
  EXPECT_EXIT(hang(true, {SIGTERM}), testing::ExitedWithCode(kStatus), "") << "the first was taken before";
}

TEST(SecondSignalWatchDeathTest, LetsTheFirstChangeNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hang(false, {SIGTERM}), testing::ExitedWithCode(kHasHung), "");
  EXPECT_EXIT(hang(false, {SIGTERM, SIGHUP}), testing::ExitedWithCode(kHasHung), "") << "a terminal that closes";
}

TEST(SecondSignalWatch, EndsWithItsOwner) {
  for (int i = 0; i < 3; ++i) const SecondSignalWatch watch(kStatus, true);
}

}  // namespace
}  // namespace shoal::stop_signals_test
