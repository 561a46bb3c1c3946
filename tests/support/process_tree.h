// Reads from /proc which processes a test has.
//
// Every program that a ProcessScene starts carries a marker in its environment, and so does everything that is started
// by it, however deep and whoever its parent is by now. So "nothing is left behind" can be asked of the kernel.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shoal {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string command_line;  // arguments joined by spaces
};

// All live processes (zombies are not) that have `marker`, an entry like "NAME=value", in their environment.
[[nodiscard]] std::vector<ProcessEntry> processes_marked(const std::string& marker);

// Returns those of `all` whose command line contains `text`.
[[nodiscard]] std::vector<ProcessEntry> named_like(const std::vector<ProcessEntry>& all, const std::string& text);

// Returns those of `all` that descend from `ancestor`, itself left out.
[[nodiscard]] std::vector<ProcessEntry> descendants_of(const std::vector<ProcessEntry>& all, pid_t ancestor);

// True when a signal that was sent to the process still waits to be taken.
[[nodiscard]] bool is_signal_pending(pid_t pid, int signal);

// Tells whether the process has such signals wait until it takes them. While it is in sigtimedwait() the kernel does
// not count them as blocked: then this holds as well.
[[nodiscard]] bool is_signal_blocked(pid_t pid, int signal);

// One line per process, for messages.
[[nodiscard]] std::string describe(const std::vector<ProcessEntry>& processes);

}  // namespace shoal
