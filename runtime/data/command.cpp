// fork and exec by hand: only there can the parent-death signal be set before the program runs. stdin is empty, so that
// nothing can ask a question.
#include "runtime/data/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

std::string_view name_of(std::string_view setting) { return setting.substr(0, setting.find('=')); }

// Our environment with `wanted` in place of settings of the same names.
std::vector<std::string> environment_with(std::vector<std::string> wanted) {
  wanted.emplace_back("LC_ALL=C");
  const std::size_t own = wanted.size();
  for (char** setting = environ; *setting != nullptr; ++setting) {
    bool replaced = false;
    for (std::size_t i = 0; i < own; ++i) replaced = replaced || name_of(wanted[i]) == name_of(*setting);
    if (!replaced) wanted.emplace_back(*setting);
  }
  return wanted;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A file of its own for a stream, or nothing: true when it is in place.
bool opens(const char* path, int flags, int stream) {
  const int file = ::open(path, flags, 0644);
  if (file < 0) return false;
  const bool is_there = ::dup2(file, stream) >= 0;
  if (file != stream) ::close(file);
  return is_there;
}

// Where the words of a command go.
bool redirect(const Command& command) {
  constexpr int kReplace = O_WRONLY | O_CREAT | O_TRUNC;
  const bool has_own_errors = command.errors != command.output;
  return ::chdir(command.folder.c_str()) == 0 && opens("/dev/null", O_RDONLY, STDIN_FILENO) &&
         opens(command.output.c_str(), kReplace, STDOUT_FILENO) &&
         (has_own_errors ? opens(command.errors.c_str(), kReplace, STDERR_FILENO)
                         : ::dup2(STDOUT_FILENO, STDERR_FILENO) >= 0);
}

// What the child does between fork and exec: only calls that are safe there. A caller may block or ignore signals for
// its own reasons; the program starts with none blocked or ignored, so that Ctrl-C ends it too. Writes errno to
// `report` on failure.
[[noreturn]] void become(const Command& command, char* const* arguments, char* const* environment, pid_t parent,
                         int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (redirect(command)) ::execvpe(arguments[0], arguments, environment);
  const int reason = errno;
  if (::write(report, &reason, sizeof reason) != sizeof reason) ::_exit(126);
  ::_exit(127);
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

Result<int> run_command(const Command& command) {
  CHECK(!command.arguments.empty(), "a command names its program");
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = environment_with(command.environment);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> settings = pointers_to(environment);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return fail(Error::kIo, compose("cannot make a pipe: ", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(command, argv.data(), settings.data(), parent, report[1]);
  const int fork_error = errno;
  ::close(report[1]);
  const int refused = child > 0 ? failed_start(report[0]) : fork_error;
  ::close(report[0]);
  if (refused != 0) {
    if (child > 0) ::waitpid(child, nullptr, 0);
    return fail(Error::kIo, compose("cannot start ", arguments[0], ": ", std::strerror(refused)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(Error::kIo, compose("cannot wait for ", arguments[0], ": ", std::strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace shoal
