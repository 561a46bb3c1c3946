// Digests per block on a GPU, in the same values as the CPU's (runtime/device/digest.h, which defines them).
// The digest is the host's to make of them: block values are a 2048th of the bytes.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"
#include "runtime/device/cuda/kernels/tensor_chunks.h"
#include "runtime/device/digest.h"

namespace shoal::gpu {

// Values of all tensors of a flat array of floats, whose chunks are blocks: one for each chunk. Each tensor begins at a
// multiple of 8 bytes.
[[nodiscard]] LaunchError block_values(const TensorChunks& chunks, const float* flat, std::uint64_t* values,
                                       Stream stream);
static_assert(kChunk * sizeof(float) == kDigestBlock);

}  // namespace shoal::gpu
