// Asks a person to open a port where a connection does not come about: the same words wherever it is said, with the
// address and the port in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/compose.h"

namespace shoal {

// "open TCP port 7100 of 10.0.0.2"
[[nodiscard]] inline std::string open_port_text(std::string_view host, std::uint16_t port) {
  return compose("open TCP port ", port, " of ", host);
}

}  // namespace shoal
