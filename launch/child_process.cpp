// fork and exec by hand: only there can the parent-death signal be set before the program runs.
#include "launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

std::vector<char*> as_argv(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  return argv;
}

// What the child does between fork and exec: only calls that are safe there. Writes errno to `report` on failure.
[[noreturn]] void become(char* const* argv, pid_t parent, int log, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
  }
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::execv(argv[0], argv);
  const int reason = errno;
  if (::write(report, &reason, sizeof reason) != sizeof reason) ::_exit(126);
  ::_exit(127);
}

Failure cannot(const std::string& what, int reason) {
  return fail(Error::kIo, compose("cannot ", what, ": ", std::strerror(reason)));
}

// Reads errno of a failed exec; nothing when the program runs (its end of the pipe closed by itself).
int failed_exec(int report) {
  int reason = 0;
  ssize_t count = 0;
  do count = ::read(report, &reason, sizeof reason);
  while (count < 0 && errno == EINTR);
  return count == sizeof reason ? reason : 0;
}

}  // namespace

Result<pid_t> start_child(const ChildProgram& program) {
  int log = -1;
  if (!program.log_file.empty()) {
    log = ::open(program.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return cannot("open the log file " + program.log_file, errno);
  }
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return cannot("make a pipe", errno);
  auto argv = as_argv(program.arguments);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), parent, log, report[1]);
  const int fork_error = errno;
  ::close(report[1]);
  if (log >= 0) ::close(log);
  const int exec_error = child > 0 ? failed_exec(report[0]) : fork_error;
  ::close(report[0]);
  if (child > 0 && exec_error == 0) return child;
  if (child > 0) ::waitpid(child, nullptr, 0);
  return cannot("start " + program.arguments.front(), exec_error);
}

void signal_child(pid_t pid, int signal) {
  if (::kill(-pid, signal) != 0) ::kill(pid, signal);
}

Result<std::string> output_of(const std::vector<std::string>& arguments) {
  int words[2];
  if (::pipe2(words, O_CLOEXEC) != 0) return cannot("make a pipe", errno);
  auto argv = as_argv(arguments);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, STDERR_FILENO);
    ::dup2(words[1], STDOUT_FILENO);
    become(argv.data(), parent, -1, nothing);
  }
  const int fork_error = errno;
  ::close(words[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 1; child > 0 && count != 0;) {
    count = ::read(words[0], buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  ::close(words[0]);
  if (child < 0) return cannot("start " + arguments.front(), fork_error);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return fail(Error::kInternal, arguments.front() + " cannot run here, or failed");
}

std::string program_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

Failure execute(const std::vector<std::string>& arguments) {
  auto argv = as_argv(arguments);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // a keeper that was asked to end leaves signals blocked
  ::execv(argv[0], argv.data());
  return cannot("start " + arguments.front(), errno);
}

}  // namespace shoal
