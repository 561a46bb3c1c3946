// Identifies this machine, as far as its steady clock goes: processes with the same number read the same clock, so that
// their traces can be put side by side without an estimate.
#pragma once

#include <cstdint>

namespace shoal {

// Reads the kernel's boot identity and this process's time namespace; 0 where the system does not say.
[[nodiscard]] std::uint64_t machine_number();

}  // namespace shoal
