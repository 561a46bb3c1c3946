// One program that a test has started: its output goes to files, it can be waited for and signalled, and it cannot
// outlive the test: it dies with the test's process, and its destructor kills it.
//
// Waiting is always for something, with a deadline: the end of a program by its pidfd, anything else by asking again
// every few milliseconds.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

using Milliseconds = std::chrono::milliseconds;

// Waits until `is_true` or the limit is over. Returns whether it became true.
[[nodiscard]] bool wait_until(const std::function<bool()>& is_true, Milliseconds limit);

// Reads what can be read of a file; of /proc, too, whose processes may be gone meanwhile.
[[nodiscard]] std::string read_all(const std::filesystem::path& path);

struct ProgramStart {
  std::vector<std::string> arguments;              // the program's path, or a name to be found in PATH, first
  std::filesystem::path folder;                    // its working directory
  std::filesystem::path output;                    // stdout goes to <output>.out, stderr to <output>.err
  std::map<std::string, std::string> environment;  // in addition to the test's own
};

class Program {
 public:
  // A program that cannot be started ends with 127.
  explicit Program(ProgramStart start);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Returns its exit status, or 128 + the signal that ended it; nothing when it still runs after `limit`.
  std::optional<int> wait(Milliseconds limit);
  // Returns what wait() has found, without waiting.
  [[nodiscard]] std::optional<int> status() const { return status_; }
  void signal(int number) const;
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;
  [[nodiscard]] std::string command_line() const;

 private:
  ProgramStart start_;
  pid_t pid_ = 0;
  int pid_descriptor_ = -1;
  std::optional<int> status_;
};

}  // namespace shoal
