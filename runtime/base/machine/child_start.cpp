// A pipe that closes with exec tells the parent whether it happened: errno comes through it, or nothing.
#include "runtime/base/machine/child_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/compose.h"
#include "runtime/base/machine/thread_room.h"

namespace shoal {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child between fork and exec. Writes errno to `report` on failure.
[[noreturn]] void become(char* const* arguments, char* const* environment, const std::function<bool()>& prepare,
                         pid_t parent, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  if (prepare()) ::execvpe(arguments[0], arguments, environment);
  const int reason = errno;
  if (::write(report, &reason, sizeof reason) != sizeof reason) ::_exit(126);
  ::_exit(127);
}

Failure cannot(const std::string& what, int reason) {
  return fail(Error::kIo, compose("cannot ", what, ": ", std::strerror(reason)));
}

// errno of a child that could not become the program; 0 when it runs (its end of the pipe closed by itself).
int failed_start(int report) {
  int reason = 0;
  ssize_t count = 0;
  do count = ::read(report, &reason, sizeof reason);
  while (count < 0 && errno == EINTR);
  return count == sizeof reason ? reason : 0;
}

}  // namespace

Result<pid_t> start_program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                            const std::function<bool()>& prepare) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return cannot("make a pipe", errno);
  const auto argv = pointers_to(arguments);
  const auto settings = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), environment.empty() ? environ : settings.data(), prepare, parent, report[1]);
  const int fork_error = errno;
  ::close(report[1]);
  const int refused = child > 0 ? failed_start(report[0]) : fork_error;
  ::close(report[0]);
  if (refused == 0) return child;
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (child < 0 && refused == EAGAIN) {
    return fail(Error::kUsage, thread_lack_text("cannot start " + arguments.front()));
  }
  return cannot("start " + arguments.front(), refused);
}

}  // namespace shoal
