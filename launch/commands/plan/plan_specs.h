// The planning commands as a person sees them: options and help, part of the table in launch/interface.h.
// Neighbour of what runs them, because that table would outgrow its file.
#pragma once

#include "launch/options.h"

namespace shoal {

[[nodiscard]] CommandSpec plan();
[[nodiscard]] CommandSpec simulate_bandwidth();
[[nodiscard]] CommandSpec simulate_step();
[[nodiscard]] CommandSpec simulate_swarm();
[[nodiscard]] CommandSpec experiment();

}  // namespace shoal
