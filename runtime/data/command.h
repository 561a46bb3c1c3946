// Runs another program to its end, without a shell: arguments are passed as they are and nothing is interpreted.
//
// For the few short programs that obtaining a corpus needs. Blocks; not for a scheduled actor. The program does not
// outlive the thread that runs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

struct Command {
  std::vector<std::string> arguments;    // the program first; searched in PATH unless it holds a '/'
  std::filesystem::path folder;          // its working folder; redirections are relative to it
  std::filesystem::path output;          // stdout, replaced
  std::filesystem::path errors;          // stderr, replaced; may be the same file as output
  std::vector<std::string> environment;  // NAME=VALUE on top of ours; LC_ALL=C always
};

// The exit status; 128 + the signal's number when one ended it; 127 when its libraries could not be loaded.
// Errors: kIo when it could not be started (no such program, folder or output) or waited for.
[[nodiscard]] Result<int> run_command(const Command& command);

}  // namespace shoal
