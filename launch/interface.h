// The subcommands as a person sees them: names, options, help. The text of interface and program cannot drift apart,
// because parsing uses the same lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/options.h"

namespace shoal {

// Commands of this version in the order in which --help lists them.
[[nodiscard]] const std::vector<CommandSpec>& commands();

// The command of that name. Asking for one that does not exist is a bug.
[[nodiscard]] const CommandSpec& command_named(std::string_view name);

// Names of the interface that this version does not have: they exit 2 with 'not in this version'.
[[nodiscard]] const std::vector<std::string>& commands_not_in_this_version();

// `shoal --help`, or `shoal GROUP --help` of the commands with that first word.
[[nodiscard]] std::string overview(std::string_view group = "");

}  // namespace shoal
