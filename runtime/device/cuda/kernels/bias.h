// The gradient of a projection's bias: the sum of the output's gradient over its rows, column by column. Parts of rows
// are summed first, then the parts, in an order that the shape alone decides (columns.cuh).
#pragma once

#include "runtime/base/arithmetic/bf16.h"
#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

struct BiasShape {
  std::size_t rows = 0;
  std::size_t width = 0;  // a multiple of 8 (else kRefusedShape)
};

template <class T>  // float or Bf16
struct BiasArrays {
  const T* dy_NO = nullptr;
  float* dbias_O = nullptr;
  float* parts = nullptr;  // room for bias_parts(shape) floats
};

[[nodiscard]] std::size_t bias_parts(const BiasShape& shape);
[[nodiscard]] LaunchError bias_gradient(const BiasShape& shape, const BiasArrays<float>& arrays, Stream stream);
[[nodiscard]] LaunchError bias_gradient(const BiasShape& shape, const BiasArrays<Bf16>& arrays, Stream stream);

}  // namespace shoal::gpu
