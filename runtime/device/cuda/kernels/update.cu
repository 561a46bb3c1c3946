// All that an element needs lies in registers. AdamW: a block per chunk; SGD: a thread per element.
#include "runtime/device/cuda/kernels/update.h"

#include "runtime/device/cuda/kernels/chunk_elements.cuh"

namespace shoal::gpu {
namespace {

__device__ __forceinline__ void update(const AdamwCoefficients& k, const AdamwArrays& at, std::size_t i) {
  const AdamwElement before{at.weights[i], at.exp_avg[i], at.exp_avg_sq[i]};
  const AdamwElement after = adamw_of(k, before, at.gradient[i]);
  at.weights[i] = after.weight;
  at.exp_avg[i] = after.exp_avg;
  at.exp_avg_sq[i] = after.exp_avg_sq;
  if (at.copy != nullptr) at.copy[i] = bf16_of(after.weight);
}

__global__ void adamw_kernel(TensorChunks chunks, const AdamwCoefficients* coefficients, AdamwArrays at) {
  const Chunk chunk = chunks.chunks[blockIdx.x];
  const ChunkElements elements = elements_of(chunks, chunk);
  const AdamwCoefficients k = coefficients[chunk.tensor];
  const TensorSpan span = chunks.spans[chunk.tensor];
  if (at.copy != nullptr) at.copy += static_cast<std::ptrdiff_t>(span.copy) - static_cast<std::ptrdiff_t>(span.offset);
  for (std::size_t i = threadIdx.x; i < elements.count; i += kThreads) update(k, at, elements.begin + i);
}

__global__ void sgd_kernel(SgdCoefficients k, SgdArrays at, std::size_t count) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    const float weight = sgd_of(k, at.weights[i], at.gradient[i]);
    at.weights[i] = weight;
    if (at.copy != nullptr) at.copy[i] = bf16_of(weight);
  }
}

}  // namespace

LaunchError apply_adamw(const TensorChunks& chunks, const AdamwCoefficients* coefficients, const AdamwArrays& arrays,
                        Stream stream) {
  if (chunks.count == 0) return kLaunched;
  return launch(one_block_each(chunks.count), stream, adamw_kernel, chunks, coefficients, arrays);
}

LaunchError apply_sgd(const SgdCoefficients& coefficients, const SgdArrays& arrays, std::size_t count, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, sgd_kernel, coefficients, arrays, count);
}

}  // namespace shoal::gpu
