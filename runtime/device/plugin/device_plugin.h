// The table of functions by which shoal-worker uses the module that computes on GPUs.
//
// The module (runtime/device/cuda) is opened on demand and never closed: threads and handles of CUDA live on. The
// worker is linked to LibTorch's processor part alone, so one binary serves machines with and without a GPU. C++ types
// cross this border, so both sides must be of one build: `abi` and `build` are compared before anything else is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace at {
class Tensor;
}

namespace shoal {

class DeviceGraph;  // runtime/device/queue/device_queue.h

class DeviceMath;   // runtime/device/queue/math/device_math.h
class DeviceQueue;  // runtime/device/queue/device_queue.h

inline constexpr std::uint32_t kDevicePluginAbi = 7;

// Names the only symbol that the module exports.
inline constexpr const char* kDevicePluginSymbol = "shoal_device_plugin";

// The file, beside the program.
inline constexpr const char* kDevicePluginFile = "shoal-cuda.so";

struct DeviceMemory {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

// Bytes of this process since it began, by torch's allocator.
struct DevicePeaks {
  std::uint64_t tensor_bytes = 0;
  std::uint64_t reserved_bytes = 0;  // taken from the device, with what lies free between tensors
  std::uint64_t reserved_now = 0;
  std::uint64_t tensors_now = 0;
};

struct DevicePlugin {
  std::uint32_t abi = kDevicePluginAbi;  // first and second for ever
  const char* build = nullptr;           // build_identity() of the module
  // Makes the device ready to compute. Errors: kUsage, with a sentence that says 'driver' or 'device'.
  Status (*prepare)(int device) = nullptr;
  // Returns what must be equal for two processes to have equal bits: device, driver, libraries, build. Of a device that
  // has failed: the sentence about that.
  std::string (*fingerprint)(int device) = nullptr;
  // Asks the device. Errors: kUsage.
  Result<DeviceMemory> (*memory)(int device) = nullptr;
  // Errors: kUsage, with a sentence: the device has no units for bf16.
  Status (*check_bf16)(int device) = nullptr;
  // A stage's arithmetic by our kernels, launched on the queue's stream. What a stage calls, this and `record`, throws
  // torch's errors, from which the stage learns how its device fails (queue/device_fault.h).
  std::unique_ptr<DeviceMath> (*make_math)(std::shared_ptr<DeviceQueue> queue) = nullptr;
  // Records what the work queues on the current stream.
  std::unique_ptr<DeviceGraph> (*record)(const std::function<std::vector<at::Tensor>()>& work) = nullptr;
  // Returns the device's name in the world: of two processes that compute on one device, both have it. Errors: kUsage.
  Result<std::string> (*identity)(int device) = nullptr;
  // Zeros where the device does not say.
  DevicePeaks (*peaks)(int device) = nullptr;
  // Errors: kUsage, with a sentence: cuDNN's attention is not taken on the device.
  Status (*check_cudnn_attention)(int device) = nullptr;
};

// Digest of the headers whose types cross the border, the compiler and its flags.
[[nodiscard]] const char* build_identity();

}  // namespace shoal
