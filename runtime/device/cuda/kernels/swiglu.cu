// A thread per pack of 16 bytes. Where logistic.h has no number the pack is computed again by the formula.
#include "runtime/device/cuda/kernels/swiglu.h"

#include "model/arithmetic/swiglu_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"
#include "runtime/device/cuda/kernels/logistic.h"

namespace shoal::gpu {
namespace {

template <class T>
__global__ void forward_kernel(std::size_t packs, SwigluForward<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  for (std::size_t p = first_element(); p < packs; p += all_threads()) {
    const Pack<T> gate = load_pack(at.gate + p * kCount);
    const Pack<T> up = load_pack(at.up + p * kCount);
    float y[kCount];
    bool has_nan = false;
    for (unsigned i = 0; i < kCount; ++i) {
      y[i] = silu_or_nan(to_float(gate.at[i])) * to_float(up.at[i]);
      has_nan |= y[i] != y[i];
    }
    Pack<T> pack = pack_of_numbers<T>(y);
    for (unsigned i = 0; has_nan && i < kCount; ++i) {
      pack.at[i] = from_float<T>(silu_of(to_float(gate.at[i])) * to_float(up.at[i]));
    }
    store_pack(at.y + p * kCount, pack);
  }
}

template <class T>
__global__ void backward_kernel(std::size_t packs, SwigluBackward<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  for (std::size_t p = first_element(); p < packs; p += all_threads()) {
    const Pack<T> gate = load_pack(at.gate + p * kCount);
    Pack<T> dgate = load_pack(at.up + p * kCount);
    Pack<T> dup = load_pack(at.dy + p * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const float g = to_float(gate.at[i]);
      const float dy = to_float(dup.at[i]);
      dgate.at[i] = from_float<T>(dy * to_float(dgate.at[i]) * silu_slope_of(g));
      dup.at[i] = from_float<T>(silu_of(g) * dy);
    }
    store_pack(at.dgate + p * kCount, dgate);
    store_pack(at.dup + p * kCount, dup);
  }
}

template <class T>
LaunchError forward(std::size_t count, const SwigluForward<T>& arrays, Stream stream) {
  if (count == 0) return kLaunched;
  const bool is_taken = count % 8 == 0 && is_aligned(arrays.gate) && is_aligned(arrays.up) && is_aligned(arrays.y);
  if (!is_taken) return kRefusedShape;
  const std::size_t packs = count / Pack<T>::kCount;
  return launch(grid_over(packs), stream, forward_kernel<T>, packs, arrays);
}

template <class T>
LaunchError backward(std::size_t count, const SwigluBackward<T>& arrays, Stream stream) {
  if (count == 0) return kLaunched;
  const bool is_read = is_aligned(arrays.gate) && is_aligned(arrays.up) && is_aligned(arrays.dy);
  const bool is_taken = count % 8 == 0 && is_read && is_aligned(arrays.dgate) && is_aligned(arrays.dup);
  if (!is_taken) return kRefusedShape;
  const std::size_t packs = count / Pack<T>::kCount;
  return launch(grid_over(packs), stream, backward_kernel<T>, packs, arrays);
}

}  // namespace

LaunchError swiglu_forward(std::size_t count, const SwigluForward<float>& arrays, Stream stream) {
  return forward(count, arrays, stream);
}
LaunchError swiglu_forward(std::size_t count, const SwigluForward<Bf16>& arrays, Stream stream) {
  return forward(count, arrays, stream);
}
LaunchError swiglu_backward(std::size_t count, const SwigluBackward<float>& arrays, Stream stream) {
  return backward(count, arrays, stream);
}
LaunchError swiglu_backward(std::size_t count, const SwigluBackward<Bf16>& arrays, Stream stream) {
  return backward(count, arrays, stream);
}

}  // namespace shoal::gpu
