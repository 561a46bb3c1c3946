// Names of a run's processes in the emulator's commands: spawner, storage, a worker by its node's name
// ("node1", further devices "node1:1"), and everything else, as a person's commands, "operator".
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shoal {

[[nodiscard]] std::string link_name(const std::vector<std::string>& command_line);

// Name of a live process; "operator" where it cannot be read.
[[nodiscard]] std::string link_name_of(pid_t pid);

}  // namespace shoal
