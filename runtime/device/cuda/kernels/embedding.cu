// A block per touched row; its threads take the columns, each of them all positions in order.
#include "runtime/device/cuda/kernels/embedding.h"

#include <cmath>

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

__global__ void sum_rows_kernel(EmbeddingRows plan, const float* gradient, float* sums) {
  const std::size_t row = blockIdx.x;
  const std::int32_t begin = plan.starts[row];
  const std::int32_t end = plan.starts[row + 1];
  for (std::size_t c = threadIdx.x; c < plan.width; c += blockDim.x) {
    float sum = 0;
#pragma unroll 8  // loads do not wait for the sum
    for (std::int32_t i = begin; i < end; ++i) {
      sum += gradient[static_cast<std::size_t>(plan.positions[i]) * plan.width + c];
    }
    sums[row * plan.width + c] = sum;
  }
}

__global__ void accumulate_rows_kernel(EmbeddingRows plan, const float* from, double scale, std::int64_t* sums,
                                       const unsigned* is_bad) {
  if (*is_bad != 0) return;
  const std::size_t row = blockIdx.x;
  const std::size_t into = static_cast<std::size_t>(plan.rows[row]) * plan.width;
  for (std::size_t c = threadIdx.x; c < plan.width; c += blockDim.x) {
    sums[into + c] += fixed_point(from[row * plan.width + c], scale);
  }
}

__global__ void scatter_rows_kernel(EmbeddingRows plan, const float* from, float* table) {
  const std::size_t row = blockIdx.x;
  const std::size_t into = static_cast<std::size_t>(plan.rows[row]) * plan.width;
  for (std::size_t c = threadIdx.x; c < plan.width; c += blockDim.x) table[into + c] = from[row * plan.width + c];
}

__global__ void sum_over_sequences_kernel(SequenceShape shape, const float* gradient, float* sums) {
  for (std::size_t i = first_element(); i < shape.elements; i += all_threads()) {
    float sum = 0;
    for (std::size_t b = 0; b < shape.sequences; ++b) sum += gradient[b * shape.elements + i];
    sums[i] = sum;
  }
}

}  // namespace

LaunchError sum_rows(const EmbeddingRows& plan, const float* gradient_NC, float* sums_RC, Stream stream) {
  if (plan.row_count == 0) return kLaunched;
  return launch(one_block_each(plan.row_count), stream, sum_rows_kernel, plan, gradient_NC, sums_RC);
}

LaunchError accumulate_rows(const EmbeddingRows& plan, const float* sums_RC, const ExactSums& into, Stream stream) {
  if (plan.row_count == 0) return kLaunched;
  const double scale = std::ldexp(1.0, into.fraction_bits);
  return launch(one_block_each(plan.row_count), stream, accumulate_rows_kernel, plan, sums_RC, scale, into.sums,
                into.is_bad);
}

LaunchError scatter_rows(const EmbeddingRows& plan, const float* sums_RC, float* table_VC, Stream stream) {
  if (plan.row_count == 0) return kLaunched;
  return launch(one_block_each(plan.row_count), stream, scatter_rows_kernel, plan, sums_RC, table_VC);
}

LaunchError sum_over_sequences(const SequenceShape& shape, const float* gradient, float* sums, Stream stream) {
  if (shape.elements == 0) return kLaunched;
  return launch(grid_over(shape.elements), stream, sum_over_sequences_kernel, shape, gradient, sums);
}

}  // namespace shoal::gpu
