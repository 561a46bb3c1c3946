// Words that all kernels' interfaces share: a stream, what a launch answers, and memory of the device.
//
// Kernels are asynchronous: a function here puts work on the stream and returns. Pointers are the device's; what they
// point at lives until the stream is past the work. A size of zero puts nothing on the stream. Matrices begin at a
// multiple of 16 bytes (else kRefusedShape), as the device's allocators place them. No header here needs the toolkit,
// so that an executor, a test and a program without CUDA compile against the same declarations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arithmetic/element.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace shoal::gpu {

using Stream = CUstream_st*;

// cudaError_t of the launch, which is positive; 0 is success. Negative where a kernel does not take the shape.
using LaunchError = int;
inline constexpr LaunchError kLaunched = 0;
inline constexpr LaunchError kRefusedShape = -1;

// A brain float, the upper half of a float32: torch's BFloat16 has the same bytes.
struct Bf16 {
  std::uint16_t bits = 0;
};

}  // namespace shoal::gpu
