// Tensors as kernels take them: pointers, and what a launch that failed becomes.
// A failed launch is a device's failure, which device_fault_of() reads from its text, not a bug of the caller.
#pragma once

#include <ATen/core/Tensor.h>

#include "runtime/base/ensure.h"
#include "runtime/device/cuda/kernels/launch.h"

namespace shoal {

// CUDA's words for what a device failed with before, which the next launch is told of by its number.
inline const char* launch_error_words(gpu::LaunchError error) {
  switch (error) {
    case 2: return "out of memory";
    case 700: return "an illegal memory access was encountered";
    case 719: return "unspecified launch failure";
    default: return "a kernel was not launched";
  }
}

inline void check_launched(gpu::LaunchError error, const char* kernel) {
  ENSURE(error != gpu::kRefusedShape, kernel);  // the caller asks which shapes are taken
  TORCH_CHECK(error == gpu::kLaunched, "CUDA error: ", launch_error_words(error), " (", error, ", seen at ", kernel,
              ")");
}

template <class T>
const T* read_from(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}
template <class T>
T* written_to(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}
inline std::size_t count_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

}  // namespace shoal
