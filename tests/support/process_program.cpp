// fork, exec, pidfd. Between fork and exec only system calls are made.
#include "tests/support/process_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace shoal {
namespace {

constexpr int kAskAgainMs = 5;

std::filesystem::path with_ending(std::filesystem::path path, const char* ending) { return path += ending; }

int open_to_append(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!additions.contains(text.substr(0, text.find('=')))) entries.push_back(text);
  }
  for (const auto& [name, value] : additions) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

std::string read_all(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();  // unlike iterators, no exception when a process is gone
  return text.str();
}

bool wait_until(const std::function<bool()>& is_true, Milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const bool is_last = std::chrono::steady_clock::now() >= deadline;  // one look is after it, whoever stood still
    if (is_true()) return true;
    if (is_last) return false;
    ::poll(nullptr, 0, kAskAgainMs);
  }
}

Program::Program(ProgramStart start) : start_(std::move(start)) {
  auto entries = environment_with(start_.environment);
  const auto environment = pointers_to(entries);
  auto words = start_.arguments;
  const auto arguments = pointers_to(words);
  const std::string folder = start_.folder.string();
  const int out = open_to_append(with_ending(start_.output, ".out"));
  const int err = open_to_append(with_ending(start_.output, ".err"));
  const pid_t tester = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGHUP, SIG_DFL);  // also where the tests run under nohup
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (::getppid() != tester || ::chdir(folder.c_str()) != 0 || ::dup2(nothing, 0) < 0 || ::dup2(out, 1) < 0 ||
        ::dup2(err, 2) < 0)
      ::_exit(127);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    ::_exit(127);
  }
  ::close(out);
  ::close(err);
  if (pid_ < 0) std::abort();
  pid_descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pid_descriptor_ < 0) std::abort();
}

Program::~Program() {
  if (!status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(pid_descriptor_);
}

std::optional<int> Program::wait(Milliseconds limit) {
  if (status_) return status_;
  pollfd ended{pid_descriptor_, POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(limit.count())) <= 0) return std::nullopt;
  int how = 0;
  ::waitpid(pid_, &how, 0);
  status_ = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  return status_;
}

void Program::signal(int number) const {
  if (!status_) ::kill(pid_, number);
}

std::string Program::out() const { return read_all(with_ending(start_.output, ".out")); }
std::string Program::err() const { return read_all(with_ending(start_.output, ".err")); }

std::string Program::command_line() const {
  std::string line;
  for (const auto& argument : start_.arguments) line += argument + " ";
  return line;
}

}  // namespace shoal
