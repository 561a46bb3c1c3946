// The name that a node takes if a person gives it none.
// A node's name goes into certificates, paths and log lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

// Returns the name in the certificate of the folder `certs`, where one can be read there (run_node() says what is wrong
// with others); else node_name_of() of this machine and process.
[[nodiscard]] std::string usual_node_name(const std::optional<std::string>& certs);

// Returns the host's name, without what may not stand in a name, and the process id; of a container also the number of
// its namespace of processes: containers that share a host's name begin to count at 1 each.
[[nodiscard]] std::string node_name_of(std::string name, int process, std::optional<std::uint64_t> process_namespace);

}  // namespace shoal
