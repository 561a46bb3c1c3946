// posix_spawn and waitpid; stdin is empty, so that nothing can ask a question.
#include "runtime/data/command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

class SpawnActions {
 public:
  SpawnActions() { CHECK(posix_spawn_file_actions_init(&actions_) == 0, "there is memory for spawn actions"); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void redirect(const Command& command) {
    constexpr int kReplace = O_WRONLY | O_CREAT | O_TRUNC;
    int result = posix_spawn_file_actions_addchdir_np(&actions_, command.folder.c_str());
    result += posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    result += posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, command.output.c_str(), kReplace, 0644);
    if (command.errors == command.output) {
      result += posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    } else {
      result += posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, command.errors.c_str(), kReplace, 0644);
    }
    CHECK(result == 0, "there is memory for spawn actions");
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// A caller may block or ignore signals for its own reasons; the program starts with none blocked, so that Ctrl-C ends
// it too.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    int result = posix_spawnattr_init(&attributes_);
    result += posix_spawnattr_setsigmask(&attributes_, &none);
    result += posix_spawnattr_setsigdefault(&attributes_, &all);
    result += posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    CHECK(result == 0, "there is memory for spawn attributes");
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<int> run_command(const Command& command) {
  CHECK(!command.arguments.empty(), "a command names its program");
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = environment_with(command.environment);
  SpawnActions actions;
  actions.redirect(command);
  const SpawnAttributes attributes;
  pid_t child = 0;
  const int refused = ::posix_spawnp(&child, arguments[0].c_str(), actions.get(), attributes.get(),
                                     pointers_to(arguments).data(), pointers_to(environment).data());
  if (refused != 0) return fail(Error::kIo, compose("cannot start ", arguments[0], ": ", std::strerror(refused)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(Error::kIo, compose("cannot wait for ", arguments[0], ": ", std::strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace shoal
