// How a command finds a run that is under way: its directory holds the control address and the operator's certificate,
// or both are named. The address is read anew each time: a spawner that was started again may listen elsewhere.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/transport/control/control_client.h"

namespace shoal {

struct RunLocator {
  std::string run_directory;  // empty where `spawner` is set
  std::optional<HostPort> spawner;
  std::string certs;  // folder with the operator's certificate
};

// Connects to nobody yet. Errors: kUnreachable (no spawner has started there), kIo, kInvalidData.
[[nodiscard]] Result<ControlClient> client_of(const RunLocator& where);

}  // namespace shoal
