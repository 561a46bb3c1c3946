// A thread per four elements.
#include "runtime/device/cuda/kernels/dropout.h"

#include "model/arithmetic/dropout_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"
#include "runtime/device/cuda/kernels/quad.cuh"

namespace shoal::gpu {
namespace {

template <class T>
__global__ void drop_kernel(DropoutShape shape, DropoutDraw draw, DropoutArrays<T> at) {
  const std::size_t of_sample = shape.elements / kQuad;
  for (std::size_t p = first_element(); p < shape.samples * of_sample; p += all_threads()) {
    const std::size_t sample = p / of_sample;
    const std::uint64_t index = draw.step << 32U | (p - sample * of_sample);
    const FourWords words = random_words(index, at.streams[sample], draw.seed);
    Quad values = load_quad(at.x + kQuad * p);
    for (unsigned i = 0; i < kQuad; ++i) values.at[i] *= words.at[i] < draw.threshold ? 0.0F : draw.kept;
    store_quad(at.y + kQuad * p, values);
  }
}

template <class T>
LaunchError drop_of(const DropoutShape& shape, const DropoutDraw& draw, const DropoutArrays<T>& arrays, Stream stream) {
  if (shape.samples * shape.elements == 0) return kLaunched;
  const bool is_taken = shape.elements % kQuad == 0 && is_aligned(arrays.x) && is_aligned(arrays.y);
  if (!is_taken) return kRefusedShape;
  return launch(grid_over(shape.samples * shape.elements / kQuad), stream, drop_kernel<T>, shape, draw, arrays);
}

}  // namespace

LaunchError drop(const DropoutShape& shape, const DropoutDraw& draw, const DropoutArrays<float>& arrays,
                 Stream stream) {
  return drop_of(shape, draw, arrays, stream);
}
LaunchError drop(const DropoutShape& shape, const DropoutDraw& draw, const DropoutArrays<Bf16>& arrays, Stream stream) {
  return drop_of(shape, draw, arrays, stream);
}

}  // namespace shoal::gpu
