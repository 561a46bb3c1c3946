// Prepares what each child is given; runtime/base/machine/child_start.h starts it.
#include "launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "launch/life_line.h"
#include "runtime/base/compose.h"
#include "runtime/base/machine/child_start.h"
#include "runtime/base/machine/unhindered_stream.h"

namespace shoal {
namespace {

std::vector<char*> as_argv(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  return argv;
}

// Prepares a child before its program begins: a process group of its own, default signals, an empty stdin. In a group
// of its own it is in the terminal's background, whose words stop it (SIGTTOU) where the terminal is set to `tostop`.
void settle_child() {
  ::setpgid(0, 0);
  ::signal(SIGTTOU, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
}

std::vector<std::string> environment_with(int life_line) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  environment.push_back(compose(kLifeLineName, "=", life_line));
  return environment;
}

Failure cannot(const std::string& what, int reason) {
  return fail(Error::kIo, compose("cannot ", what, ": ", std::strerror(reason)));
}

}  // namespace

Result<pid_t> start_child(const ChildProgram& program, int life_line) {
  int log = -1;
  if (!program.log_file.empty()) {
    log = ::open(program.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return cannot("open the log file " + program.log_file, errno);
  }
  const auto environment = life_line < 0 ? std::vector<std::string>() : environment_with(life_line);
  auto child = start_program(program.arguments, environment, [log, life_line] {
    settle_child();
    if (life_line >= 0) ::fcntl(life_line, F_SETFD, 0);
    if (log >= 0) {
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
    }
    return true;
  });
  if (log >= 0) ::close(log);
  return child;
}

void signal_child(pid_t pid, int signal) {
  if (::kill(-pid, signal) != 0) ::kill(pid, signal);
}

Result<std::string> output_of(const std::vector<std::string>& arguments) {
  int words[2];
  if (::pipe2(words, O_CLOEXEC) != 0) return cannot("make a pipe", errno);
  const auto child = start_program(arguments, {}, [out = words[1]] {
    settle_child();
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, STDERR_FILENO);
    ::dup2(out, STDOUT_FILENO);
    return true;
  });
  ::close(words[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 1; child.ok() && count != 0;) {
    count = ::read(words[0], buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  ::close(words[0]);
  if (!child) return child.failure();
  int status = 0;
  ::waitpid(*child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fail(Error::kInternal,
                compose(arguments.front(), " was ended by signal ", signal, " (", ::strsignal(signal), ")"));
  }
  return fail(Error::kInternal,
              compose(arguments.front(), " cannot run here, or failed: it ended with status ", WEXITSTATUS(status)));
}

std::string program_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

void hold_program() {
  static const int held = [] {
    const int program = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (program >= 0) ::flock(program, LOCK_SH | LOCK_NB);
    return program;
  }();
  (void)held;
}

Failure execute(const std::vector<std::string>& arguments, BlockedSignals blocked) {
  auto argv = as_argv(arguments);
  words_out().finish(std::chrono::seconds(1));
  sigset_t none;
  ::sigemptyset(&none);
  // A keeper that was asked to end leaves signals blocked.
  if (blocked == BlockedSignals::kLetGo) ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(argv[0], argv.data());
  return cannot("start " + arguments.front(), errno);
}

}  // namespace shoal
