// Many tensors of one flat array, in one launch: chunks of 4096 elements, each of one tensor.
//
//   flat:    | tensor 0 ......... | tensor 1 | tensor 2 .............. |
//   chunks:  | 0,0 | 0,1 | 0,2    | 1,0      | 2,0 | 2,1 | 2,2 | 2,3   |     (tensor, number within it)
//
// A chunk of floats is a block of a squared norm and of a digest, too. A stage has hundreds of tensors, most of them
// small: a launch for each would cost more than its work. Bits are those of model/update_kernels.h, one element is
// step_elements.h in both.
#pragma once

#include <span>
#include <vector>

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

inline constexpr std::size_t kChunk = kNormBlock;

struct TensorSpan {
  std::uint64_t offset = 0;  // in the flat array
  std::uint64_t count = 0;
  std::uint64_t first_chunk = 0;  // of all chunks
  std::uint64_t copy = 0;         // offset in the copy in bf16, which has a layout of its own
};

struct Chunk {
  std::uint32_t tensor = 0;
  std::uint32_t number = 0;
};

// Tables in the device's memory.
struct TensorChunks {
  const TensorSpan* spans = nullptr;  // of all tensors
  std::size_t tensors = 0;
  const Chunk* chunks = nullptr;
  std::size_t count = 0;  // of chunks
};

// The same on the host; first_chunk of each span is filled in.
[[nodiscard]] std::vector<Chunk> chunks_of(std::span<TensorSpan> spans);

// The chunks of some tensors that follow each other: `chunks` and `count` are narrowed to them, spans are not.
[[nodiscard]] inline TensorChunks some_of(const TensorChunks& all, std::size_t first_chunk, std::size_t count) {
  return {all.spans, all.tensors, all.chunks + first_chunk, count};
}

// Gradients of the chunks' tensors, each an array of its own: of[tensor - first].
struct Gradients {
  const float* const* of = nullptr;
  std::size_t first = 0;
};

// is_bad[tensor] = 1 if a value of its gradient is no number, or |value| > limit; else it stays as it is. What is added
// behind it on the stream reads that: no answer travels to the host in between.
[[nodiscard]] LaunchError find_beyond(const TensorChunks& chunks, const Gradients& gradients, float limit,
                                      unsigned* is_bad, Stream stream);

struct ChunkSums {
  void* sums = nullptr;    // flat: int64 (exact) or float
  int fraction_bits = -1;  // of int64; negative: they are floats
  const unsigned* is_bad = nullptr;
};
// Adds the gradients of tensors that are not bad: round(value * 2^fraction_bits), halves away from zero, or the value.
[[nodiscard]] LaunchError accumulate(const TensorChunks& chunks, const Gradients& gradients, const ChunkSums& into,
                                     Stream stream);

// norms[tensor] = its sum of squares in double, in the order of shoal::squared_norm(). block_sums: room for a double
// per chunk.
[[nodiscard]] LaunchError squared_norms(const TensorChunks& all, const float* flat, double* block_sums, double* norms,
                                        Stream stream);

}  // namespace shoal::gpu
