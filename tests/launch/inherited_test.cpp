// A stream that was closed stays useless, and no other file gets its number; ends of children and of files are told.
#include "launch/inherited.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace shoal::inherited_test {
namespace {

// Returns the exit status of a process of its own.
int status_of(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The number that the next file gets.
int close_all_and_open(bool is_occupied) {
  for (const int stream : {0, 1, 2}) ::close(stream);
  if (is_occupied) occupy_standard_streams();
  return ::open("/dev/null", O_RDWR);
}

TEST(StandardStreams, AreNobodyElsesWhenTheyWereClosed) {
  EXPECT_GT(status_of([] { return close_all_and_open(true); }), 2);
  EXPECT_EQ(status_of([] { return close_all_and_open(false); }), 0) << "the control";
}

TEST(StandardStreams, RefuseWhatTheyWouldHaveRefused) {
  EXPECT_EQ(status_of([] {
              (void)close_all_and_open(true);
              char byte = 0;
              const bool reads = ::read(0, &byte, 1) >= 0 || errno != EBADF;
              const bool writes = ::write(1, &byte, 1) >= 0 || errno != EBADF;
              const bool complains = ::write(2, &byte, 1) >= 0 || errno != EBADF;
              return (reads ? 1 : 0) + (writes ? 2 : 0) + (complains ? 4 : 0);
            }),
            0);
}

TEST(StandardStreams, ThatAreThereAreLeftAlone) {
  EXPECT_EQ(status_of([] {
              const int next = ::dup(1);
              ::close(next);
              occupy_standard_streams();
              return ::dup(1) == next ? 0 : 1;
            }),
            0);
}

// Returns 1 when the end of a child is told in a process that inherited SIG_IGN for SIGCHLD.
int tells_of_children(bool is_settled) {
  ::signal(SIGCHLD, SIG_IGN);
  if (is_settled) settle_inherited_signals();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return ::waitpid(child, nullptr, 0) == child ? 1 : 0;
}

TEST(InheritedSignals, EndsOfChildrenAreTold) {
  EXPECT_EQ(status_of([] { return tells_of_children(true); }), 1);
  EXPECT_EQ(status_of([] { return tells_of_children(false); }), 0) << "the control";
}

TEST(InheritedSignals, AFileAtItsLimitIsAnErrorOfTheWrite) {
  EXPECT_EQ(status_of([] {
              settle_inherited_signals();
              char name[] = "/tmp/limited.XXXXXX";
              const int file = ::mkstemp(name);
              ::unlink(name);
              const rlimit none{0, RLIM_INFINITY};
              ::setrlimit(RLIMIT_FSIZE, &none);
              return ::write(file, "x", 1) < 0 ? errno : 0;
            }),
            EFBIG);
}

}  // namespace
}  // namespace shoal::inherited_test
