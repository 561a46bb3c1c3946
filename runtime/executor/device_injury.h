// How a test injures a device on purpose, so that what follows a real fault is seen: the reason, the end of the
// process, its successor. `shoal` has no command for it (poison_hook.h).
#pragma once

#include <cstdint>

namespace shoal {

enum class DeviceInjury : std::uint8_t {
  kIllegalAddress,  // every later call to the device fails
  kOutOfMemory,
  kHang,  // for a minute, longer than anybody waits
};

}  // namespace shoal
