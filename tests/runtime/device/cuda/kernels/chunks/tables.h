// Tables of tensors' chunks in the memory that kernels touch, and a tensor alone as one of them.
// What a launch does to all tensors of a flat array is tested so on one, too.
#pragma once

#include <utility>
#include <vector>

#include "runtime/device/cuda/kernels/tensor_chunks.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"

namespace shoal::gpu {

class Tables {
 public:
  explicit Tables(std::vector<TensorSpan> spans) : spans_(std::move(spans)), chunks_(chunks_of(spans_)) {}
  explicit Tables(std::size_t count) : Tables(std::vector<TensorSpan>{{.offset = 0, .count = count}}) {}

  [[nodiscard]] TensorChunks all() { return {there_.at(), spans_.size(), chunks_there_.at(), chunks_.size()}; }
  [[nodiscard]] const TensorSpan& operator[](std::size_t tensor) const { return spans_[tensor]; }
  [[nodiscard]] std::size_t chunks() const { return chunks_.size(); }

 private:
  std::vector<TensorSpan> spans_;
  std::vector<Chunk> chunks_;
  DeviceArray<TensorSpan> there_{spans_};
  DeviceArray<Chunk> chunks_there_{chunks_};
};

// One gradient as the only one of a launch.
class OneGradient {
 public:
  OneGradient(const float* at, std::size_t count) : tables_(count), address_(std::vector<const float*>{at}) {}

  [[nodiscard]] LaunchError find_beyond(float limit, unsigned* is_bad) {
    return gpu::find_beyond(tables_.all(), {address_.at(), 0}, limit, is_bad, nullptr);
  }
  [[nodiscard]] LaunchError accumulate(const ChunkSums& into) {
    return gpu::accumulate(tables_.all(), {address_.at(), 0}, into, nullptr);
  }

 private:
  Tables tables_;
  DeviceArray<const float*> address_;
};

}  // namespace shoal::gpu
