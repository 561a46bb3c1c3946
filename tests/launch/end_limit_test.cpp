// A process whose end hangs is over after its limit, with its status and a line that says why, also where it can start
// no thread.
#include "launch/end_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/base/log.h"

namespace shoal::end_limit_test {
namespace {

constexpr int kStatus = 7;
constexpr int kCouldStartAThread = 8;

// Hangs at the end of a child that is given no more memory.
[[noreturn]] void hang(int errors) {
  ::dup2(errors, STDERR_FILENO);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_AS, &none);
  limit_end("node1", std::chrono::seconds(1), kStatus);
  // Stacks of threads that earlier tests ended are kept by the C library: they are used up.
  constexpr int kKeptAtMost = 100;
  try {
    for (int thread = 0; thread < kKeptAtMost; ++thread) std::thread([] { ::pause(); }).detach();
    ::_exit(kCouldStartAThread);
  } catch (const std::exception&) {
  }
  for (;;) ::pause();
}

TEST(EndLimit, EndsAProcessThatCanStartNoThreadAndHangs) {
  int errors[2];
  ASSERT_EQ(::pipe(errors), 0);
  const auto begun = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) hang(errors[1]);
  ::close(errors[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  const auto took = std::chrono::steady_clock::now() - begun;
  std::string said(256, '\0');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(errors[0], said.data(), said.size()), 0)));
  ::close(errors[0]);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kStatus);
  EXPECT_GE(took, std::chrono::milliseconds(900));
  EXPECT_LT(took, std::chrono::seconds(10));
  EXPECT_EQ(said.find("node1: its end took longer than 1 s"), 0U) << said;
  EXPECT_NE(said.find("no more memory or threads (see `ulimit -a`); ending now\n"), std::string::npos) << said;
}

// The child's handler may not ask the log to write what it has kept, so the log keeps nothing.
TEST(EndLimit, LosesNoLineOfTheLog) {
  const std::string path = ::testing::TempDir() + "end_limit." + std::to_string(::getpid()) + ".log";
  const pid_t child = ::fork();
  if (child == 0) {
    if (!open_log({path, LogLevel::kDebug, false})) ::_exit(1);
    log_debug("node1", "the last word");
    limit_end("node1", std::chrono::seconds(1), kStatus);
    for (;;) ::pause();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), kStatus);
  const auto text = read_file(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("node1: the last word\n"), std::string::npos) << *text;
}

}  // namespace
}  // namespace shoal::end_limit_test
