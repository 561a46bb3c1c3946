// Kernels of dropout, for both ways: they draw the mask of model/dropout.h anew each time, so that none is kept and
// none is copied from the host. The bits of the CPU's mask, and in float32 of its product.
//
// Samples have a stream of random words each; one draw gives the words of four elements.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

struct DropoutShape {
  std::size_t samples = 0;
  std::size_t elements = 0;  // of a sample, a multiple of 4 (else kRefusedShape)
};

struct DropoutDraw {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t threshold = 0;  // a word below it drops its element: rate * 2^32
  float kept = 1;               // factor of the others: 1 / (1 - rate)
};

template <class T>
struct DropoutArrays {
  const T* x = nullptr;
  const std::uint64_t* streams = nullptr;  // [samples]
  T* y = nullptr;                          // x times the mask, rounded to T; may be x
};
[[nodiscard]] LaunchError drop(const DropoutShape& shape, const DropoutDraw& draw, const DropoutArrays<float>& arrays,
                               Stream stream);
[[nodiscard]] LaunchError drop(const DropoutShape& shape, const DropoutDraw& draw, const DropoutArrays<Bf16>& arrays,
                               Stream stream);

}  // namespace shoal::gpu
