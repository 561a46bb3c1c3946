// The device of torch's that a device's name means: a GPU, or the processor for all others.
// Whether it may be used was asked before (plugin/load_plugin.h).
#pragma once

#include <string>

#include <c10/core/Device.h>

#include "runtime/executor/device_name.h"

namespace shoal {

[[nodiscard]] inline c10::Device torch_device(const std::string& word) {
  const auto name = parse_device(word);
  const bool is_gpu = name.ok() && name->kind == DeviceKind::kCuda;
  return is_gpu ? c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(name->index)) : c10::Device(c10::kCPU);
}

}  // namespace shoal
