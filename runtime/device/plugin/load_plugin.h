// Opens the module that computes on GPUs, and makes a process ready for the device that it is to use. Torch-free.
//
// Order matters: torch decides at its first backward, seed or question about CUDA whether this process has CUDA. So a
// process prepares its device before it computes anything. What fails is one sentence with the cause, never a crash.
#pragma once

#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/device/plugin/device_plugin.h"

namespace shoal {

// Opens the module at `path` and compares builds. Errors: kUsage; the file is missing, cannot be loaded, is no such
// module, or is of another build; kInvalidData, it or a library that it needs is cut or damaged.
[[nodiscard]] Result<const DevicePlugin*> open_plugin(const std::string& path);

// Before the first computation of a process that serves `device`: cpu, paced:MS, or cuda:N, which opens the module
// `folder`/shoal-cuda.so. Errors: kUsage, with a sentence that names the device.
[[nodiscard]] Status prepare_device(const std::string& device, const std::string& folder);

// The module that prepare_device() has opened; none: this process computes on the processor alone.
[[nodiscard]] const DevicePlugin* device_plugin();

// Asks whoever computes for `device` whether it can in the model's precision: the GPU by way of its module, or this
// processor. Errors: kUsage, for bf16 without units for it, and for a GPU without a module.
[[nodiscard]] Status check_units(const std::string& device, const ModelConfig& model, const DevicePlugin* plugin);

// Returns what must be equal for two processes to have equal bits. `device`: prepared.
[[nodiscard]] std::string device_fingerprint(const std::string& device, int threads);

}  // namespace shoal
