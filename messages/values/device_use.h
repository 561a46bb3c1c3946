// DeviceUse: how a process used the device that it computes on for a while, and how fast that can be.
//
// Figures for people alone: nothing is decided by them. Stages on one device share it, so what they did is of all.
#pragma once

#include <cstdint>

namespace shoal {

// Says what speed is measured by (runtime/trace/metrics/device_figures.h).
struct DevicePeak {
  std::uint64_t multiply_adds_s = 0;  // of one core or of the GPU, measured in the run's precision; 0: not known
  std::uint32_t cores = 0;            // on which the process may compute; a GPU counts as one
  std::uint64_t device = 0;           // equal for all processes on one processor or one GPU; 0: not known
  friend bool operator==(const DevicePeak&, const DevicePeak&) = default;
};

struct DeviceUse {
  std::uint64_t busy_us = 0;            // some stage of the process had work there
  std::uint64_t over_us = 0;            // the time that this is about; 0: nothing was measured
  std::uint64_t multiply_adds = 0;      // of the model, for microbatches that were trained meanwhile
  std::uint64_t memory_bytes = 0;       // resident in the process or, on a GPU, taken by its tensors; 0: not known
  std::uint64_t memory_peak_bytes = 0;  // the most of it since the process began; 0: not known
  std::uint32_t threads = 0;            // compute threads of all its stages; a stage on a GPU has one
  DevicePeak peak{};
  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
};

}  // namespace shoal
