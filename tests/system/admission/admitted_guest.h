// A program that a run has admitted as a node and that is none: its certificate. The run's own authority issues it, so
// that no process can tell it from that of an honest node.
#pragma once

#include <string>

#include "runtime/transport/certificates.h"
#include "tests/support/process_scene.h"

namespace shoal {

// The certificate of a node of that name, from the run's own authority. Its files lie in the scene's folder `name`.
[[nodiscard]] TlsFiles certificate_of_guest(const ProcessScene& scene, const std::string& run,
                                            const std::string& name = "guest");

}  // namespace shoal
