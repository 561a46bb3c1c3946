// A block per piece; its threads take the columns, each of them all positions in order; or a thread per pack of columns
// where rows are multiples of 16 bytes. Then a block per touched row, which adds its pieces.
#include "runtime/device/cuda/kernels/embedding.h"

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

__global__ void sum_pieces_kernel(EmbeddingRows plan, const float* gradient, float* sums) {
  const std::size_t piece = blockIdx.x;
  const std::int32_t begin = plan.starts[piece];
  const std::int32_t end = plan.starts[piece + 1];
  for (std::size_t c = threadIdx.x; c < plan.width; c += blockDim.x) {
    float sum = 0;
#pragma unroll 8  // loads do not wait for the sum
    for (std::int32_t i = begin; i < end; ++i) {
      sum += gradient[static_cast<std::size_t>(plan.positions[i]) * plan.width + c];
    }
    sums[piece * plan.width + c] = sum;
  }
}

constexpr std::int32_t kPositionsAtOnce = 4;  // loads that a thread has under way

// A thread has a pack of one piece: its positions in order, kPositionsAtOnce loads before their sums.
__global__ void sum_packs_kernel(EmbeddingRows plan, const float* gradient, float* sums) {
  const std::size_t packs = plan.width / 4;
  for (std::size_t p = first_element(); p < plan.piece_count * packs; p += all_threads()) {
    const std::size_t piece = p / packs;
    const float* column = gradient + (p - piece * packs) * 4;
    const std::int32_t begin = plan.starts[piece];
    const std::int32_t end = plan.starts[piece + 1];
    Pack<float> sum{};
    for (std::int32_t i = begin; i < end; i += kPositionsAtOnce) {
      Pack<float> loaded[kPositionsAtOnce];
      for (std::int32_t k = 0; k < kPositionsAtOnce; ++k) {
        const std::int32_t at = i + k < end ? i + k : end - 1;
        loaded[k] = load_pack(column + static_cast<std::size_t>(plan.positions[at]) * plan.width);
      }
      for (std::int32_t k = 0; k < kPositionsAtOnce; ++k) {
        for (unsigned c = 0; c < 4; ++c) sum.at[c] = i + k < end ? sum.at[c] + loaded[k].at[c] : sum.at[c];
      }
    }
    store_pack(sums + p * 4, sum);
  }
}

__device__ __forceinline__ float sum_of_row(const EmbeddingRows& plan, const float* from, std::size_t c) {
  const std::int32_t begin = plan.pieces[blockIdx.x];
  const std::int32_t end = plan.pieces[blockIdx.x + 1];
  float sum = from[static_cast<std::size_t>(begin) * plan.width + c];
  for (std::int32_t piece = begin + 1; piece < end; ++piece) {
    sum += from[static_cast<std::size_t>(piece) * plan.width + c];
  }
  return sum;
}

__global__ void scatter_rows_kernel(EmbeddingRows plan, const float* from, float* table) {
  const std::size_t into = static_cast<std::size_t>(plan.rows[blockIdx.x]) * plan.width;
  for (std::size_t c = threadIdx.x; c < plan.width; c += blockDim.x) table[into + c] = sum_of_row(plan, from, c);
}

__global__ void sum_over_sequences_kernel(SequenceShape shape, const float* gradient, float* sums) {
  for (std::size_t i = first_element(); i < shape.elements; i += all_threads()) {
    float sum = 0;
    for (std::size_t b = 0; b < shape.sequences; ++b) sum += gradient[b * shape.elements + i];
    sums[i] = sum;
  }
}

}  // namespace

LaunchError sum_pieces(const EmbeddingRows& plan, const float* gradient_NC, float* sums_PC, Stream stream) {
  if (plan.piece_count == 0) return kLaunched;
  if (plan.width % 4 == 0 && is_aligned(gradient_NC) && is_aligned(sums_PC)) {
    const std::size_t packs = plan.piece_count * plan.width / 4;
    const Grid grid{dim3(static_cast<unsigned>(parts_of(packs, kThreads))), dim3(kThreads)};
    return launch(grid, stream, sum_packs_kernel, plan, gradient_NC, sums_PC);
  }
  return launch(one_block_each(plan.piece_count), stream, sum_pieces_kernel, plan, gradient_NC, sums_PC);
}

LaunchError scatter_rows(const EmbeddingRows& plan, const float* sums_PC, float* table_VC, Stream stream) {
  if (plan.row_count == 0) return kLaunched;
  return launch(one_block_each(plan.row_count), stream, scatter_rows_kernel, plan, sums_PC, table_VC);
}

LaunchError sum_over_sequences(const SequenceShape& shape, const float* gradient, float* sums, Stream stream) {
  if (shape.elements == 0) return kLaunched;
  return launch(grid_over(shape.elements), stream, sum_over_sequences_kernel, shape, gradient, sums);
}

}  // namespace shoal::gpu
