// A stream that was closed stays useless, and its number is nobody else's.
#include "launch/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace shoal {
namespace {

// What a process of its own ends with.
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
              const int before = ::dup(1);
              occupy_standard_streams();
              return ::dup(1) == before + 1 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace shoal
