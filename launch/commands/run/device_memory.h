// Asks before a start whether a stage fits the memory of its device. The processor's memory is not asked about.
// The sentence names the device, what is needed, what is free, and what would fit
// (runtime/plan/resources/device_fit.h).
#pragma once

#include "runtime/base/error.h"
#include "runtime/device/executor_factory.h"

namespace shoal {

// Errors: kUsage.
[[nodiscard]] Status check_device_memory(const ExecutorConfig& wanted);

}  // namespace shoal
