// The words that name a device: cpu, cuda, cuda:N, paced:MS. One place reads them, for commands and for executors.
//
//   cpu        the machine's processor
//   cuda:N     GPU number N, as the driver counts; `cuda` alone means every GPU that there is, one worker each
//   paced:MS   the processor at a known speed: MS per microbatch forward, twice that backward; paced:MS@S:MS... has
//              another pace from S seconds after the worker began to compute, as in paced:150@40:450@80:150: a device
//              that slows down, and recovers, for experiments
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

enum class DeviceKind : std::uint8_t { kCpu, kPaced, kCuda, kEveryCuda };

struct PaceChange {
  double from_s = 0;
  double pace_ms = 0;
  friend bool operator==(const PaceChange&, const PaceChange&) = default;
};

struct DeviceName {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;                              // kCuda
  double pace_ms = 0;                         // kPaced
  std::vector<PaceChange> pace_changes = {};  // kPaced; ascending
};

// Errors: kUsage with what was expected; whether the device is there is not asked.
[[nodiscard]] Result<DeviceName> parse_device(const std::string& word);

}  // namespace shoal
