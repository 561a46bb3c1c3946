// Somebody whom a run has admitted as a node and who is none: its certificate, and where it can knock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/transport/certificates.h"
#include "tests/support/process_scene.h"

namespace shoal {

// The certificate of a node of that name, from the run's own authority. Its files lie in the scene's folder `name`.
[[nodiscard]] TlsFiles certificate_of_guest(const ProcessScene& scene, const std::string& run,
                                            const std::string& name = "guest");

// Where a process of the run listens for other processes: the control endpoint is left out.
[[nodiscard]] std::vector<std::uint16_t> doors_of(const ProcessScene& scene, const std::string& run, pid_t process);

}  // namespace shoal
