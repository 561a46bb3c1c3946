// Completion of command lines by the shell: what may stand where, and the names of files everywhere else.
// Made from the same lines as parsing and --help, so that it knows every command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/options.h"
#include "runtime/base/error.h"

namespace shoal {

struct CompletedWords {
  std::vector<CommandSpec> commands;  // names of one word or two
  std::vector<std::string> keys;      // keys of the configuration, which may follow --set
};

// The script that makes a shell complete `shoal`. shell: bash, zsh, fish. Errors: kUsage for any other.
[[nodiscard]] Result<std::string> completion_script(std::string_view shell, const CompletedWords& words);

}  // namespace shoal
