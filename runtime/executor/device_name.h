// The words that name a device: cpu, cuda, cuda:N, paced:MS. One place reads them, for commands and for executors.
//
//   cpu        the machine's processor
//   cuda:N     GPU number N, as the driver counts; `cuda` alone means every GPU that there is, one worker each
//   paced:MS   the processor at a known speed: MS per microbatch forward, twice that backward
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

enum class DeviceKind : std::uint8_t { kCpu, kPaced, kCuda, kEveryCuda };

struct DeviceName {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;       // kCuda
  double pace_ms = 0;  // kPaced
};

// Errors: kUsage with what was expected; whether the device is there is not asked.
[[nodiscard]] Result<DeviceName> parse_device(const std::string& word);

}  // namespace shoal
