// A child that may have few processes is told so; one that may have enough is not.
#include "runtime/base/machine/thread_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace shoal::thread_room_test {
namespace {

using testing::HasSubstr;

// The kernel does not hold root to the limit.
constexpr uid_t kNobody = 65534;

// Returns what a child with this limit is told: "" for enough.
std::string told_with_limit(rlim_t processes, std::size_t wanted) {
  int words[2];
  if (::pipe(words) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(1);
    limit.rlim_cur = std::min(processes, limit.rlim_max);
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(1);
    if (::getuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);
    const Status status = check_thread_room(wanted);
    const std::string text =
        status ? std::string() : (status.failure().error == Error::kUsage ? "" : "other: ") + status.failure().message;
    ::_exit(::write(words[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(words[1]);
  std::string text(1024, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(words[0], text.data(), text.size()), 0)));
  ::close(words[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : "the child failed";
}

TEST(ThreadRoom, IsRefusedWithTheLimitAndWhatRaisesIt) {
  const std::string told = told_with_limit(1, 50);
  EXPECT_THAT(told, testing::StartsWith("the system gives no more threads or processes: 50 more are needed here, and "
                                        "there is room for 0; raise `ulimit -u`, which is 1 for all"));
  EXPECT_THAT(told, HasSubstr("TasksMax"));
}

TEST(ThreadRoom, IsThereWhereTheLimitIsHighOrNothingIsWanted) {
  EXPECT_EQ(told_with_limit(RLIM_INFINITY, 50), "");
  EXPECT_EQ(told_with_limit(1, 0), "");
}

}  // namespace
}  // namespace shoal::thread_room_test
