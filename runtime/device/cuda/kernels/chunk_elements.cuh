// Finds a chunk's elements in the flat array (tensor_chunks.h).
// A tensor's last chunk may be shorter; others have kChunk elements.
#pragma once

#include "runtime/device/cuda/kernels/launching.cuh"
#include "runtime/device/cuda/kernels/tensor_chunks.h"

namespace shoal::gpu {

struct ChunkElements {
  std::size_t begin = 0;  // in the flat array
  std::size_t count = 0;
};

__device__ __forceinline__ ChunkElements elements_of(const TensorChunks& chunks, const Chunk& chunk) {
  const TensorSpan span = chunks.spans[chunk.tensor];
  const std::size_t before = static_cast<std::size_t>(chunk.number) * kChunk;
  const std::size_t left = span.count - before;
  return {span.offset + before, left < kChunk ? left : kChunk};
}

}  // namespace shoal::gpu
