// A thread per four elements.
#include "runtime/device/cuda/kernels/dropout.h"

#include "model/arithmetic/dropout_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

__global__ void drop_kernel(DropoutShape shape, DropoutDraw draw, DropoutArrays at) {
  const std::size_t of_sample = shape.elements / 4;
  for (std::size_t p = first_element(); p < shape.samples * of_sample; p += all_threads()) {
    const std::size_t sample = p / of_sample;
    const std::uint64_t index = draw.step << 32U | (p - sample * of_sample);
    const FourWords words = random_words(index, at.streams[sample], draw.seed);
    Pack<float> values = load_pack(at.x + 4 * p);
    for (unsigned i = 0; i < 4; ++i) values.at[i] = values.at[i] * (words.at[i] < draw.threshold ? 0.0F : draw.kept);
    store_pack(at.y + 4 * p, values);
  }
}

}  // namespace

LaunchError drop(const DropoutShape& shape, const DropoutDraw& draw, const DropoutArrays& arrays, Stream stream) {
  if (shape.samples * shape.elements == 0) return kLaunched;
  const bool is_taken = shape.elements % 4 == 0 && is_aligned(arrays.x) && is_aligned(arrays.y);
  if (!is_taken) return kRefusedShape;
  return launch(grid_over(shape.samples * shape.elements / 4), stream, drop_kernel, shape, draw, arrays);
}

}  // namespace shoal::gpu
