// Asks the NVIDIA driver of this machine what there is, without CUDA's runtime and without LibTorch.
//
// The driver's library is opened when it is asked for and never needed to start. What its answers mean to a person is
// a pure function of them, so that machines without a GPU test every sentence. Each sentence says 'driver' or 'device'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

// The version of CUDA that LibTorch was built with: an older driver cannot run it.
inline constexpr int kCudaMajor = 13;

// The lowest compute capability that our kernels are compiled for, as in 80 for 8.0: a test compares it with the list
// in runtime/device/cuda/kernels/CMakeLists.txt. An older device would fail at the first of them.
inline constexpr int kLowestCapability = 80;

struct GpuFacts {
  std::string name;  // as in "NVIDIA H100 80GB HBM3"
  std::uint64_t memory_bytes = 0;
  int major = 0;  // compute capability
  int minor = 0;
};

// The driver's answers in the order in which it was asked; those after the first refusal are absent.
struct DriverAnswers {
  std::optional<std::string> open_error;  // why its library could not be opened
  int init_status = 0;                    // cuInit; 0 is success
  int cuda_version = 0;                   // cuDriverGetVersion, as in 13000
  std::vector<GpuFacts> devices;
};

[[nodiscard]] DriverAnswers ask_gpu_driver();

// Returns all devices, in the driver's order, of which one at least can be used (usable_device() says which). Errors:
// kUsage, with a sentence that says what to do.
[[nodiscard]] Result<std::vector<GpuFacts>> usable_devices(const DriverAnswers& answers);

// Errors: kUsage when the driver has no such device, or none at all, or when our kernels do not run on it.
[[nodiscard]] Result<GpuFacts> usable_device(const DriverAnswers& answers, int index);

// Returns why nothing can be computed on the device, as in "the device cuda:1 (NVIDIA T400) has compute capability 7.5,
// ..."; empty: it can be used.
[[nodiscard]] std::string device_lack(int index, const GpuFacts& facts);

// E.g. "cuda:0 NVIDIA H100 80GB HBM3, 79.1 GiB".
[[nodiscard]] std::string device_text(int index, const GpuFacts& facts);
// Says it of each, with "; " between them, and why one cannot be used.
[[nodiscard]] std::string device_texts(const std::vector<GpuFacts>& devices);

}  // namespace shoal
