// stdin is empty, so that nothing can ask a question.
#include "runtime/data/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "runtime/base/compose.h"
#include "runtime/base/machine/child_start.h"

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

// A file of its own for a stream, or nothing: true when it is in place.
bool opens(const char* path, int flags, int stream) {
  const int file = ::open(path, flags, 0644);
  if (file < 0) return false;
  const bool is_there = ::dup2(file, stream) >= 0;
  if (file != stream) ::close(file);
  return is_there;
}

// Sets the folder and the streams of a command.
bool redirect(const Command& command) {
  constexpr int kReplace = O_WRONLY | O_CREAT | O_TRUNC;
  const bool has_own_errors = command.errors != command.output;
  return ::chdir(command.folder.c_str()) == 0 && opens("/dev/null", O_RDONLY, STDIN_FILENO) &&
         opens(command.output.c_str(), kReplace, STDOUT_FILENO) &&
         (has_own_errors ? opens(command.errors.c_str(), kReplace, STDERR_FILENO)
                         : ::dup2(STDOUT_FILENO, STDERR_FILENO) >= 0);
}

// A caller may block or ignore signals for its own reasons; the program starts with none blocked or ignored, so that
// Ctrl-C ends it too.
void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Result<int> run_command(const Command& command) {
  ENSURE(!command.arguments.empty(), "a command names its program");
  const auto child = start_program(command.arguments, environment_with(command.environment), [&command] {
    reset_signals();
    return redirect(command);
  });
  if (!child) return child.failure();
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0) {
    if (errno != EINTR)
      return fail(Error::kIo, compose("cannot wait for ", command.arguments[0], ": ", std::strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace shoal
