// Each thread keeps (largest, sum of exp(logit - largest)) of its packs; such pairs can be merged in any grouping, and
// are merged in one: lanes of a warp by halves, then the warps in order.
#include "runtime/device/cuda/kernels/cross_entropy.h"

#include "model/arithmetic/exponential.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kWarps = kThreads / kWarp;
constexpr float kNothing = -0x1.fffffep127F;  // below every logit

struct Softmax {
  float largest = kNothing;
  float sum = 0;
};

// exponential() of what is no larger than 0.
__device__ __forceinline__ float falloff(float z) { return exponential_inside(at_least(z, -87.0F)); }

__device__ __forceinline__ Softmax merged(const Softmax& a, const Softmax& b) {
  const bool is_first = a.largest > b.largest;
  const float smaller = falloff(-std::fabs(a.largest - b.largest));  // the other factor is exp(0)
  return {is_first ? a.largest : b.largest,
          std::fma(a.sum, is_first ? 1.0F : smaller, b.sum * (is_first ? smaller : 1.0F))};
}

// log(x), 1 <= x < 2^24: 2^e m with m in [0.7, 1.4], and log m = 2 artanh((m - 1) / (m + 1)); within 1e-15. What is no
// such number, NaN above all, is given back as it is.
__device__ __forceinline__ double logarithm(float x) {
  if (!(x < 0x1p24F)) return x;
  const std::uint32_t bits = bits_of(x) - 0x3F333333U;  // of 0.7
  const auto exponent = static_cast<std::int32_t>(bits) >> 23;
  const double m = float_of((bits & 0x007FFFFFU) + 0x3F333333U);
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double series = 0;
  for (int odd = 21; odd >= 1; odd -= 2) series = std::fma(series, z2, 1.0 / odd);
  return std::fma(2 * z, series, exponent * 0.693147180559945309417);
}

// count: the pack's logits; what lies behind them is padding.
template <class T>
__device__ __forceinline__ Softmax softmax_of_pack(const Pack<T>& pack, std::size_t count) {
  constexpr unsigned kCount = Pack<T>::kCount;
  Softmax softmax;
  for (unsigned i = 0; i < kCount; ++i) {
    if (i < count) softmax.largest = at_least(to_float(pack.at[i]), softmax.largest);
  }
  for (unsigned i = 0; i < kCount; ++i) {
    if (i < count) softmax.sum += falloff(to_float(pack.at[i]) - softmax.largest);
  }
  return softmax;
}

template <class T>
__device__ __forceinline__ Softmax softmax_of_thread(const T* row, std::size_t vocabulary) {
  constexpr unsigned kCount = Pack<T>::kCount;
  Softmax mine;
  std::size_t c = threadIdx.x * kCount;
  if (c >= vocabulary) return mine;
  Pack<T> next = load_pack(row + c);
  for (; c < vocabulary; c += kThreads * kCount) {
    const Pack<T> pack = next;
    if (c + kThreads * kCount < vocabulary) next = load_pack(row + c + kThreads * kCount);
    const bool is_whole = c + kCount <= vocabulary;
    mine = merged(mine, is_whole ? softmax_of_pack(pack, kCount) : softmax_of_pack(pack, vocabulary - c));
  }
  return mine;
}

// In every thread; all threads of the block call it.
__device__ __forceinline__ Softmax softmax_of_block(Softmax mine) {
  __shared__ Softmax warps[kWarps];
  for (int distance = 16; distance > 0; distance /= 2) {
    const Softmax other{__shfl_xor_sync(kAllLanes, mine.largest, distance),
                        __shfl_xor_sync(kAllLanes, mine.sum, distance)};
    mine = (threadIdx.x & static_cast<unsigned>(distance)) == 0 ? merged(mine, other) : merged(other, mine);
  }
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  Softmax all = warps[0];
  for (unsigned i = 1; i < kWarps; ++i) all = merged(all, warps[i]);
  return all;
}

// A row: its softmax, and its target where it has one.
struct LossRow {
  Softmax all;
  float scale;  // 1 / sum
  std::size_t vocabulary, target;
  bool is_counted;
};

// The gradient of the pack at column c, whatever is in it.
template <class T>
__device__ __forceinline__ Pack<T> gradient_of(Pack<T> pack, std::size_t c, const LossRow& row) {
  for (unsigned i = 0; i < Pack<T>::kCount; ++i) {
    const bool is_inside = row.is_counted && c + i < row.vocabulary;
    const float p = is_inside ? falloff(to_float(pack.at[i]) - row.all.largest) * row.scale : 0.0F;
    pack.at[i] = from_float<T>(is_inside && c + i == row.target ? p - 1.0F : p);
  }
  return pack;
}

// The same where all of the pack is inside, none is the target, and the row has no NaN: then all results are numbers.
template <class T>
__device__ __forceinline__ Pack<T> plain_gradient_of(const Pack<T>& pack, const LossRow& row) {
  float p[Pack<T>::kCount];
  for (unsigned i = 0; i < Pack<T>::kCount; ++i) {
    p[i] = falloff(to_float(pack.at[i]) - row.all.largest) * row.scale;
  }
  return pack_of_numbers<T>(p);
}

template <class T>
__global__ void __launch_bounds__(kThreads) loss_kernel(LossShape shape, LossArrays<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  T* logits = at.logits + blockIdx.x * shape.stride;
  const std::int32_t target = at.targets[blockIdx.x];
  const bool is_counted = target >= 0;
  const float of_target = is_counted ? to_float(logits[target]) : 0.0F;
  const Softmax all = softmax_of_block(softmax_of_thread(logits, shape.vocabulary));
  const float scale = is_counted ? 1.0F / all.sum : 0.0F;
  const LossRow row{all, scale, shape.vocabulary, static_cast<std::size_t>(target), is_counted};
  const bool has_plain = is_counted && all.sum == all.sum;
  // From its end to its beginning: the rows of all blocks are more than the L2 cache holds, and of each what was read
  // last is still there.
  constexpr std::size_t kStep = std::size_t{kThreads} * kCount;
  const std::size_t first = threadIdx.x * kCount;
  std::size_t c = first < shape.stride ? first + (shape.stride - 1 - first) / kStep * kStep : shape.stride;
  Pack<T> next;
  if (c < shape.stride) next = load_pack(logits + c);
  for (; c < shape.stride; c -= kStep) {  // below 0 it is beyond the stride
    const Pack<T> pack = next;
    if (c >= kStep) next = load_pack(logits + c - kStep);
    const bool has_target = row.target >= c && row.target < c + kCount;
    const bool is_plain = has_plain && c + kCount <= shape.vocabulary && !has_target;
    store_pack(logits + c, is_plain ? plain_gradient_of(pack, row) : gradient_of(pack, c, row));
  }
  if (threadIdx.x != 0) return;
  const double loss = logarithm(all.sum) + (static_cast<double>(all.largest) - static_cast<double>(of_target));
  at.losses[blockIdx.x] = is_counted ? static_cast<float>(loss) : 0.0F;
}

// One block: each thread a stride of the losses, then the threads in order.
__global__ void sum_losses_kernel(const float* losses, std::size_t count, double* sum) {
  __shared__ double sums[kThreads];
  double mine = 0;
  for (std::size_t i = threadIdx.x; i < count; i += kThreads) mine += static_cast<double>(losses[i]);
  sums[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double all = 0;
  for (unsigned i = 0; i < kThreads; ++i) all += sums[i];
  *sum = all;
}

template <class T>
LaunchError loss(const LossShape& shape, const LossArrays<T>& arrays, Stream stream) {
  if (shape.rows == 0) return kLaunched;
  const bool is_taken =
      shape.vocabulary > 0 && shape.stride >= shape.vocabulary && shape.stride % 8 == 0 && is_aligned(arrays.logits);
  if (!is_taken) return kRefusedShape;
  return launch(one_block_each(shape.rows), stream, loss_kernel<T>, shape, arrays);
}

}  // namespace

LaunchError loss_and_gradient(const LossShape& shape, const LossArrays<float>& arrays, Stream stream) {
  return loss(shape, arrays, stream);
}
LaunchError loss_and_gradient(const LossShape& shape, const LossArrays<Bf16>& arrays, Stream stream) {
  return loss(shape, arrays, stream);
}

LaunchError sum_losses(const float* losses, std::size_t count, double* sum, Stream stream) {
  return launch(one_block_each(1), stream, sum_losses_kernel, losses, count, sum);
}

}  // namespace shoal::gpu
