// The loops of GELU; see vector_clones.h for why their bits are the same everywhere.
#include "model/activation_kernels.h"

#include "model/arithmetic/gelu_elements.h"
#include "runtime/base/arithmetic/vector_clones.h"
#include "runtime/base/check.h"

namespace shoal {
namespace {

SHOAL_VECTOR_CLONES void forward(const float* __restrict x, float* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = gelu_of(x[i]);
}

SHOAL_VECTOR_CLONES void backward(const float* __restrict x, const float* __restrict dy, float* __restrict dx,
                                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * gelu_slope_of(x[i]);
}

}  // namespace

void gelu_forward(std::span<const float> x, std::span<float> y) {
  CHECK(x.size() == y.size(), "one result per value");
  forward(x.data(), y.data(), x.size());
}

void gelu_backward(std::span<const float> x, std::span<const float> dy, std::span<float> dx) {
  CHECK(x.size() == dy.size() && x.size() == dx.size(), "one gradient per value");
  backward(x.data(), dy.data(), dx.data(), x.size());
}

}  // namespace shoal
