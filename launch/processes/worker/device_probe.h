// DeviceProbe: what a process says of its device beside what it trains: the peak of its speed, and its memory.
//
// The peak is of the same short benchmark by which a node states its speed at its join (runtime/device/speed_probe.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/config.h"
#include "runtime/device/executor_factory.h"
#include "runtime/trace/device_meter.h"

namespace shoal {

// Measures when it is asked first, each precision once. The process is ready for the device. Not thread-safe.
class DeviceProbe {
 public:
  explicit DeviceProbe(std::string device) : device_(std::move(device)) {}

  // Measures one core of a processor, or a GPU, in a tenth of a second. 0: the device is paced, has no units for bf16,
  // or could not be measured.
  [[nodiscard]] std::uint64_t multiply_adds_s(Precision precision);

 private:
  [[nodiscard]] std::uint64_t measure(Precision precision) const;

  std::string device_;
  std::map<Precision, std::uint64_t> measured_;
};

// Returns what a stage computes on, but for the meter.
[[nodiscard]] StageOnDevice stage_on_device(const ExecutorConfig& wanted, DeviceProbe& probe);

// Tells at each call the memory that this process has or, on a GPU, that its tensors take: now, and at most.
[[nodiscard]] DeviceMeter::AskMemory memory_of(const std::string& device);

}  // namespace shoal
