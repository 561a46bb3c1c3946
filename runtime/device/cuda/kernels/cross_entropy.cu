// Powers of two stand in for exponentials: exp(x) = 2^(x log2(e)). Each thread keeps (scale, sum) of its packs: the sum
// of 2^(x log2(e) - scale), with a whole number no less than the largest logit's power. So the scale of a sum changes
// without rounding, and such pairs can be merged in any grouping. They are merged in one: lanes of a warp by halves,
// then the warps in order.
//
// A row is wanted twice: for its sum, and for its gradient. Its first kKeptSteps x kThreads packs stay in shared
// memory, where each thread reads what it wrote itself. The rest is read again, from its end to its beginning: what was
// read last is still in the L2 cache, which holds these parts of the rows of all blocks.
#include "runtime/device/cuda/kernels/cross_entropy.h"

#include <cmath>

#include "model/arithmetic/exponential.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kWarps = kThreads / kWarp;
constexpr unsigned kKeptSteps = 11;    // of kThreads packs: 44 of the 48 KiB that every GPU gives a block
constexpr unsigned kBlocksAtOnce = 5;  // of a multiprocessor, whose shared memory holds no more of them
constexpr float kNothing = -0x1p100F;  // below every logit that counts
constexpr float kLog2E = 1.44269504F;
constexpr double kLog2 = 0.693147180559945309417;
constexpr float kLeastPower = -125;  // 2 to it is a normal number, and nothing beside a sum

struct Softmax {
  float scale = kNothing;
  float sum = 0;
};

// 2^t of [-125, 125] or NaN, by 2^n 2^f, |f| <= 1/2. Relative errors: 1.6e-7; rough, for what is rounded to bf16,
// 2.7e-6. Coefficients are those of the least relative error.
template <bool kIsRough>
__device__ __forceinline__ float power_of_two(float t) {
  constexpr float kShift = 0x1.8p23F;  // adding it leaves round(t) in the low bits
  const float shifted = t + kShift;
  const float f = t - (shifted - kShift);
  float p = 0;
  if constexpr (kIsRough) {
    p = std::fma(f, 0x1.3997d6p-7F, 0x1.ca1442p-5F);
    p = std::fma(p, f, 0x1.ec06dap-3F);
    p = std::fma(p, f, 0x1.62e0dcp-1F);
    p = std::fma(p, f, 0x1.ffffe8p-1F);
  } else {
    p = std::fma(f, 0x1.5c08e4p-10F, 0x1.3d0c54p-7F);
    p = std::fma(p, f, 0x1.c6b6e4p-5F);
    p = std::fma(p, f, 0x1.ebf918p-3F);
    p = std::fma(p, f, 0x1.62e428p-1F);
    p = std::fma(p, f, 0x1.000002p+0F);
  }
  return float_of(bits_of(p) + (bits_of(shifted) << 23U));
}

// 2^(x log2(e) - scale), at least 2^-125. The fused product keeps NaN.
template <bool kIsRough>
__device__ __forceinline__ float power_of(float x, float scale) {
  return power_of_two<kIsRough>(at_least(std::fma(x, kLog2E, -scale), kLeastPower));
}

// The sum at a scale that is no smaller; both are whole numbers.
__device__ __forceinline__ float rescaled(const Softmax& of, float scale) {
  const float power = at_least(of.scale - scale, kLeastPower);
  return of.sum * float_of((127U << 23U) + (bits_of(power + 0x1.8p23F) << 23U));
}

__device__ __forceinline__ Softmax merged(const Softmax& a, const Softmax& b) {
  const float scale = at_least(a.scale, b.scale);
  return {scale, rescaled(a, scale) + rescaled(b, scale)};
}

// x = 2^exponent m, m in [0.7, 1.4]; z = (m - 1) / (m + 1), so that log m = 2 artanh(z). x >= 0.7, below 2^24.
template <class Number>
struct Logarithm {
  std::int32_t exponent;
  Number z;
};
template <class Number>
__device__ __forceinline__ Logarithm<Number> logarithm_of(float x) {
  const std::uint32_t bits = bits_of(x) - 0x3F333333U;  // of 0.7
  const Number m = float_of((bits & 0x007FFFFFU) + 0x3F333333U);
  return {static_cast<std::int32_t>(bits) >> 23, (m - 1) / (m + 1)};
}

// 2 artanh(z), |z| <= 1/6, with terms up to z^kLast.
template <int kLast, class Number>
__device__ __forceinline__ Number twice_artanh(Number z) {
  const Number z2 = z * z;
  Number series = 0;
  for (int odd = kLast; odd >= 1; odd -= 2) series = std::fma(series, z2, 1 / static_cast<Number>(odd));
  return 2 * z * series;
}

// log(x) within 1e-15. What is no number above 1/2 is given back as it is.
__device__ __forceinline__ double logarithm(float x) {
  if (!(x < 0x1p24F)) return x;
  const auto of = logarithm_of<double>(x);
  return std::fma(static_cast<double>(of.exponent), kLog2, twice_artanh<21>(of.z));
}

// log2(x) within 1e-6.
__device__ __forceinline__ float rough_log2(float x) {
  const auto of = logarithm_of<float>(x);
  return std::fma(twice_artanh<7>(of.z), kLog2E, static_cast<float>(of.exponent));
}

// count: the pack's logits; what lies behind them is padding.
template <class T>
__device__ __forceinline__ Softmax softmax_of_pack(const Pack<T>& pack, std::size_t count) {
  constexpr unsigned kCount = Pack<T>::kCount;
  float largest = kNothing;
  for (unsigned i = 0; i < kCount; ++i) {
    if (i < count) largest = at_least(to_float(pack.at[i]), largest);
  }
  Softmax softmax{std::ceil(largest * kLog2E), 0};
  for (unsigned i = 0; i < kCount; ++i) {
    if (i < count) softmax.sum += power_of<false>(to_float(pack.at[i]), softmax.scale);
  }
  return softmax;
}

// Returns where the kept packs of this thread begin; they are kThreads apart.
template <class T>
__device__ __forceinline__ Pack<T>* kept_packs() {
  __shared__ Pack<T> kept[kKeptSteps * kThreads];
  return kept + threadIdx.x;
}

template <class T>
__device__ __forceinline__ Softmax softmax_of_thread(const T* row, std::size_t vocabulary, Pack<T>* kept) {
  constexpr unsigned kCount = Pack<T>::kCount;
  constexpr std::size_t kStep = std::size_t{kThreads} * kCount;
  Softmax mine;
  std::size_t c = threadIdx.x * kCount;
  if (c >= vocabulary) return mine;
  Pack<T> next = load_pack(row + c);
  for (unsigned step = 0; c < vocabulary; c += kStep, ++step) {
    const Pack<T> pack = next;
    if (c + kStep < vocabulary) next = load_pack(row + c + kStep);
    if (step < kKeptSteps) kept[step * kThreads] = pack;
    const bool is_whole = c + kCount <= vocabulary;
    mine = merged(mine, is_whole ? softmax_of_pack(pack, kCount) : softmax_of_pack(pack, vocabulary - c));
  }
  return mine;
}

// In every thread; all threads of the block call it.
__device__ __forceinline__ Softmax softmax_of_block(Softmax mine) {
  __shared__ Softmax warps[kWarps];
  for (int distance = 16; distance > 0; distance /= 2) {
    const Softmax other{__shfl_xor_sync(kAllLanes, mine.scale, distance),
                        __shfl_xor_sync(kAllLanes, mine.sum, distance)};
    mine = (threadIdx.x & static_cast<unsigned>(distance)) == 0 ? merged(mine, other) : merged(other, mine);
  }
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  Softmax all = warps[0];
  for (unsigned i = 1; i < kWarps; ++i) all = merged(all, warps[i]);
  if (all.scale - all.scale != 0) all.sum = NAN;  // a logit is NaN or infinite: powers say nothing of it
  return all;
}

// A row: the scale at which its probabilities' sum is 1 (of bf16), or `inverse` (else), and its target.
struct LossRow {
  float scale;
  float inverse;  // 1 / sum; NaN where the row has a logit that is no number
  std::size_t vocabulary, target;
  bool is_counted;
  bool has_plain;  // it counts and has no NaN
};

// A logit's probability. What is rounded to bf16 takes the sum's logarithm into the scale.
template <class T>
__device__ __forceinline__ float probability_of(T logit, const LossRow& row) {
  if constexpr (sizeof(T) == sizeof(float)) return power_of<false>(to_float(logit), row.scale) * row.inverse;
  return power_of<true>(to_float(logit), row.scale);
}

// The gradient of the pack at column c, whatever is in it.
template <class T>
__device__ __forceinline__ Pack<T> gradient_of(Pack<T> pack, std::size_t c, const LossRow& row) {
  for (unsigned i = 0; i < Pack<T>::kCount; ++i) {
    const bool is_inside = row.is_counted && c + i < row.vocabulary;
    const float p = is_inside ? probability_of(pack.at[i], row) + (row.inverse - row.inverse) : 0.0F;
    pack.at[i] = from_float<T>(is_inside && c + i == row.target ? p - 1.0F : p);
  }
  return pack;
}

// The same where all of the pack is inside, none is the target, and the row has no NaN: then all results are numbers.
template <class T>
__device__ __forceinline__ Pack<T> plain_gradient_of(const Pack<T>& pack, const LossRow& row) {
  float p[Pack<T>::kCount];
  for (unsigned i = 0; i < Pack<T>::kCount; ++i) {
    p[i] = probability_of(pack.at[i], row);
  }
  return pack_of_numbers<T>(p);
}

// Writes the gradient of the pack at column c, over its logits.
template <class T>
__device__ __forceinline__ void store_gradient(T* logits, std::size_t c, const Pack<T>& pack, const LossRow& row) {
  constexpr unsigned kCount = Pack<T>::kCount;
  const bool has_target = row.target >= c && row.target < c + kCount;
  const bool is_plain = row.has_plain && c + kCount <= row.vocabulary && !has_target;
  store_pack(logits + c, is_plain ? plain_gradient_of(pack, row) : gradient_of(pack, c, row));
}

template <class T>
__device__ __forceinline__ LossRow row_of(const Softmax& all, std::size_t vocabulary, std::int32_t target) {
  LossRow row{all.scale, 1.0F / all.sum, vocabulary, static_cast<std::size_t>(target), target >= 0, false};
  if (sizeof(T) < sizeof(float)) row.scale += rough_log2(2 * all.sum) - 1;
  row.has_plain = row.is_counted && all.sum == all.sum;
  return row;
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce) loss_kernel(LossShape shape, LossArrays<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  constexpr std::size_t kStep = std::size_t{kThreads} * kCount;
  T* logits = at.logits + blockIdx.x * shape.stride;
  Pack<T>* kept = kept_packs<T>();
  const std::int32_t target = at.targets[blockIdx.x];
  const bool is_counted = target >= 0;
  const float of_target = is_counted ? to_float(logits[target]) : 0.0F;
  const Softmax all = softmax_of_block(softmax_of_thread(logits, shape.vocabulary, kept));
  const LossRow row = row_of<T>(all, shape.vocabulary, target);
  const std::size_t first = threadIdx.x * kCount;
  const std::size_t first_read_again = first + kKeptSteps * kStep;
  if (first_read_again < shape.stride) {
    std::size_t c = first_read_again + (shape.stride - 1 - first_read_again) / kStep * kStep;
    Pack<T> next = load_pack(logits + c);
    for (; c >= first_read_again; c -= kStep) {
      const Pack<T> pack = next;
      if (c > first_read_again) next = load_pack(logits + c - kStep);
      store_gradient(logits, c, pack, row);
    }
  }
  std::size_t c = first;
  for (unsigned step = 0; step < kKeptSteps && c < shape.stride; ++step, c += kStep) {
    store_gradient(logits, c, c < shape.vocabulary ? kept[step * kThreads] : Pack<T>{}, row);
  }
  if (threadIdx.x != 0) return;
  const double sum_logarithm = logarithm(2 * all.sum) - kLog2;  // the sum is about 1/2 or more
  const double power_of_target = static_cast<double>(of_target) * static_cast<double>(kLog2E);
  const double loss = std::fma(static_cast<double>(all.scale) - power_of_target, kLog2, sum_logarithm);
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
