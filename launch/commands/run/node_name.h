// The name that a node takes if a person gives it none.
// A node's name goes into certificates, paths and log lines.
#pragma once

#include <optional>
#include <string>

namespace shoal {

// Returns the name in the certificate of the folder `certs`, where one can be read there (run_node() says what is wrong
// with others); else one of this machine and process: its host's name, without what may not stand in a name, and the
// process id.
[[nodiscard]] std::string usual_node_name(const std::optional<std::string>& certs);

}  // namespace shoal
