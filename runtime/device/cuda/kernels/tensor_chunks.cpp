// The host's part: where chunks begin.
#include "runtime/device/cuda/kernels/tensor_chunks.h"

namespace shoal::gpu {

std::vector<Chunk> chunks_of(std::span<TensorSpan> spans) {
  std::vector<Chunk> chunks;
  for (std::size_t tensor = 0; tensor < spans.size(); ++tensor) {
    spans[tensor].first_chunk = chunks.size();
    const std::size_t count = (spans[tensor].count + kChunk - 1) / kChunk;
    for (std::size_t number = 0; number < count; ++number) {
      chunks.push_back({static_cast<std::uint32_t>(tensor), static_cast<std::uint32_t>(number)});
    }
  }
  return chunks;
}

}  // namespace shoal::gpu
