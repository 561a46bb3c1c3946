// One child process: started so that it cannot outlive its parent, in a process group of its own.
//
// The kernel kills the child when the thread that started it ends (PR_SET_PDEATHSIG), checked against a parent that
// ended before that was in force. A terminal's Ctrl-C reaches the parent only, which passes it on as it sees fit.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

struct ChildProgram {
  std::vector<std::string> arguments;  // the program's path first
  std::string log_file;                // stdout and stderr are appended to it; empty: the parent's own
};

// life_line: the far end of one (life_line.h), -1 for none. Errors: kIo with the program or the log file and the
// system's reason; also when the program cannot be executed.
[[nodiscard]] Result<pid_t> start_child(const ChildProgram& program, int life_line = -1);

// Signals the child's whole group; a child that has ended is no error.
void signal_child(pid_t pid, int signal);

// Runs a short program to its end; what it wrote to stdout. Its stderr is dropped.
// Errors: kIo when it cannot be started, kInternal when it ends with another status than 0, or by a signal, saying
// which.
[[nodiscard]] Result<std::string> output_of(const std::vector<std::string>& arguments);

// The folder of the running executable, where its sister program lies.
[[nodiscard]] std::string program_folder();

// Locks the file of the running executable (flock, shared) until this process ends: its children are started from that
// folder for as long, and launch/set-up puts no other program there meanwhile. A file system without locks has none.
void hold_program();

// Replaces this process by another program; returns only on failure. Blocked signals are let go, or wait until the
// program takes them.
enum class BlockedSignals { kLetGo, kWait };
[[nodiscard]] Failure execute(const std::vector<std::string>& arguments,
                              BlockedSignals blocked = BlockedSignals::kLetGo);

}  // namespace shoal
