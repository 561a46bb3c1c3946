// Powers of two stand in for exponentials: exp(x) = 2^(x log2(e)). Each thread keeps (scale, sum): the sum of
// 2^(x log2(e) - scale) over its logits. The scale is a whole number above the largest logit's power, so it changes
// without rounding, and such pairs can be merged in any grouping. They are merged in one: lanes of a warp by halves,
// then the warps in order. Instructions per logit cost time (../FACTS.md): a pack's largest and smallest decide
// for all of it (whether the scale holds, and whether powers are near enough to need no bound), packs stay words until
// they are computed with, and whole packs of a plain row take a loop of their own.
//
// A row is wanted twice: for its sum, and for its gradient. It is copied to shared memory, all at once, and stays
// there, as much of it as a multiprocessor has room for beside the row of another block (an H100's: 57344 brain
// floats); each thread reads its own packs. The rest is read again, from its end to its beginning: what was read last
// may still be in the L2 cache, which is asked to keep that and nothing else. What is kept where changes no bit.
#include "runtime/device/cuda/kernels/cross_entropy.h"

#include <cmath>

#include "model/arithmetic/exponential.h"
#include "runtime/device/cuda/kernels/words.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kRowThreads = 512;  // in a block; the order of sums depends on it
constexpr unsigned kWarps = kRowThreads / kWarp;
constexpr unsigned kStepBytes = kRowThreads * sizeof(Words);  // a block reads so much at once
constexpr unsigned kParts = 4;         // kept values come in these: a thread computes with the first while others come
constexpr unsigned kAhead = 2;         // packs of a thread that are on their way beyond what is kept
constexpr unsigned kBlocksAtOnce = 2;  // on a multiprocessor: one reads while the other computes
// Steps that a block keeps at most where a multiprocessor has so much shared memory: 228 KiB, 164 KiB, 100 KiB.
constexpr unsigned kManySteps = 14, kSomeSteps = 10, kFewSteps = 6;
constexpr float kNothing = -0x1p100F;  // below every logit that counts
constexpr float kLog2E = 1.44269504F;
constexpr double kLog2 = 0.693147180559945309417;
constexpr float kShift = 0x1.8p23F;    // adding it leaves a rounded number in the low bits
constexpr float kHeadroom = 8;         // between a thread's scale and the power that it was chosen for
constexpr float kLeastPower = -120;    // 2 to it is a normal number, and nothing beside a sum
constexpr float kNearScale = 0x1p21F;  // kShift takes whole numbers up to it without rounding

struct Softmax {
  float scale = kNothing;
  float sum = 0;
  float smallest = INFINITY;  // among the logits
};

// 2^f, |f| <= 1/2, times a factor: a polynomial, with the coefficients of the least relative error. That is 1.6e-7; for
// results that are rounded to T = bf16, 2.7e-6.
template <class T>
struct Powers;
template <>
struct Powers<float> {
  static constexpr unsigned kTerms = 6;
  float at[kTerms] = {0x1.5c08e4p-10F, 0x1.3d0c54p-7F, 0x1.c6b6e4p-5F, 0x1.ebf918p-3F, 0x1.62e428p-1F, 0x1.000002p+0F};
};
template <>
struct Powers<Bf16> {
  static constexpr unsigned kTerms = 5;
  float at[kTerms] = {0x1.3997d6p-7F, 0x1.ca1442p-5F, 0x1.ec06dap-3F, 0x1.62e0dcp-1F, 0x1.ffffe8p-1F};
};

// The factor times 2^(f + n), where n is in the low bits of `shifted`: -120 <= n <= 120.
template <class T>
__device__ __forceinline__ float power_of_two(const Powers<T>& powers, float f, float shifted) {
  float p = powers.at[0];
  for (unsigned i = 1; i < Powers<T>::kTerms; ++i) p = std::fma(p, f, powers.at[i]);
  return float_of(bits_of(p) + (bits_of(shifted) << 23U));
}

// 2^(x log2(e) - scale), but at least 2^-120, times the factor.
template <class T>
__device__ __forceinline__ float power_of(const Powers<T>& powers, float x, float scale) {
  const float t = at_least(std::fma(x, kLog2E, -scale), kLeastPower);
  const float shifted = t + kShift;
  return power_of_two(powers, t - (shifted - kShift), shifted);
}

// The same for a near one: no smaller than least_near_power_at(scale). shift = kShift - scale.
template <class T>
__device__ __forceinline__ float near_power_of(const Powers<T>& powers, float x, float shift) {
  const float shifted = std::fma(x, kLog2E, shift);
  return power_of_two(powers, std::fma(x, kLog2E, -(shifted - shift)), shifted);
}
__device__ __forceinline__ float least_near_power_at(float scale) {
  return std::fabs(scale) <= kNearScale ? (scale + kLeastPower) * static_cast<float>(kLog2) : INFINITY;
}

// The sum at a scale that is no smaller; both are whole numbers.
__device__ __forceinline__ float rescaled(const Softmax& of, float scale) {
  const float power = at_least(of.scale - scale, kLeastPower);
  return of.sum * float_of((127U << 23U) + (bits_of(power + kShift) << 23U));
}

__device__ __forceinline__ Softmax merged(const Softmax& a, const Softmax& b) {
  const float scale = at_least(a.scale, b.scale);
  return {scale, rescaled(a, scale) + rescaled(b, scale), at_most(a.smallest, b.smallest)};
}

// A sum of [1, 2), with the scale that belongs to it; NaN where a logit is NaN or infinite: powers say nothing of it.
__device__ __forceinline__ Softmax normalised(const Softmax& of) {
  if (of.scale - of.scale != 0) return {of.scale, NAN, of.smallest};
  const std::int32_t exponent = static_cast<std::int32_t>(bits_of(of.sum) >> 23U) - 127;
  const float sum = float_of((bits_of(of.sum) & 0x007FFFFFU) + (127U << 23U));
  return {of.scale + static_cast<float>(exponent), sum, of.smallest};
}

// log(x) within 1e-15, x of [1, 2) or NaN: 2 artanh((m - 1) / (m + 1)) of m = x or x / 2, m of [0.7, 1.4].
__device__ __forceinline__ double logarithm(float x) {
  const bool is_halved = x >= 1.4F;
  const double m = is_halved ? x / 2 : x;
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double series = 0;
  for (int odd = 21; odd >= 1; odd -= 2) series = std::fma(series, z2, 1 / static_cast<double>(odd));
  return std::fma(2 * z, series, is_halved ? kLog2 : 0.0);
}

// Keeps the sum of what a thread has read so far.
struct Running {
  Softmax softmax;
  float largest_held = NAN;  // among logits at this scale; nothing is at first
  float least_near = INFINITY;

  __device__ __forceinline__ void hold(float largest) {
    const float scale = at_least(std::ceil(largest * kLog2E), kNothing) + kHeadroom;
    softmax.sum = rescaled(softmax, scale);
    softmax.scale = scale;
    largest_held = scale * static_cast<float>(kLog2);
    least_near = least_near_power_at(scale);
  }

  template <class T>
  __device__ __forceinline__ void add(const Words& pack) {
    const Powers<float> powers;
    const float largest = chosen_of<Larger, T>(pack);
    const float smallest = chosen_of<Smaller, T>(pack);
    if (!(largest <= largest_held)) [[unlikely]]
      hold(largest);  // NaN, too
    softmax.smallest = at_most(smallest, softmax.smallest);
    const Floats<T> x = floats_of<T>(pack);
    if (smallest >= least_near) {
      const float shift = kShift - softmax.scale;
      for (const float logit : x.at) softmax.sum += near_power_of(powers, logit, shift);
    } else {
      for (const float logit : x.at) softmax.sum += power_of(powers, logit, softmax.scale);
    }
  }

  __device__ __forceinline__ void add_one(float logit) {
    if (!(logit <= largest_held)) hold(logit);
    softmax.smallest = at_most(logit, softmax.smallest);
    softmax.sum += power_of(Powers<float>{}, logit, softmax.scale);
  }
};

// A row of logits in packs. The thread has the packs threadIdx.x + step * kRowThreads.
template <class T>
struct PackedRow {
  static constexpr unsigned kCount = Pack<T>::kCount;
  static constexpr std::ptrdiff_t kStep = kRowThreads * kCount;

  T* logits;
  unsigned vocabulary;
  unsigned packs;  // whole ones

  [[nodiscard]] __device__ __forceinline__ T* pack_at(unsigned step) const {
    return logits + (threadIdx.x + step * kRowThreads) * kCount;
  }
  // How many steps the thread has.
  [[nodiscard]] __device__ __forceinline__ unsigned steps() const {
    return threadIdx.x < packs ? (packs - threadIdx.x + kRowThreads - 1) / kRowThreads : 0;
  }
};

// Says what a block keeps of its row: all of it, or the first kSteps steps.
template <unsigned kSteps, bool kIsWhole>
struct Kept {
  static constexpr unsigned kStepsMost = kSteps;
  static constexpr bool kIsAll = kIsWhole;
  static constexpr unsigned kStepsInPart = kSteps / kParts + 1;                        // the last part has the rest
  static constexpr InCache kOnce = kIsWhole ? InCache::kAsUsual : InCache::kDoneWith;  // read or written for good

  // The packs of this thread; they are kRowThreads apart.
  [[nodiscard]] __device__ __forceinline__ static Words* packs() {
#ifdef __CUDACC__
    extern __shared__ Words memory[];
#else
    auto* const memory = static_cast<Words*>(shim::dynamic_shared_memory());
#endif
    return memory + threadIdx.x;
  }
  [[nodiscard]] __device__ __forceinline__ static unsigned steps_of(unsigned steps) {
    return kIsWhole || steps < kSteps ? steps : kSteps;
  }
};

// Adds what was kept, each part when it is there.
template <class T, class Keeping, unsigned kPart = 0>
__device__ __forceinline__ void add_kept(Running& mine, const Words* packs, unsigned kept_steps) {
  constexpr unsigned kBegin = kPart * Keeping::kStepsInPart, kEnd = kBegin + Keeping::kStepsInPart;
  wait_for_copies<kParts - 1 - kPart>();
  const unsigned end = kEnd < kept_steps ? kEnd : kept_steps;
#pragma unroll 1
  for (unsigned step = kBegin; step < end; ++step) mine.add<T>(packs[step * kRowThreads]);
  if constexpr (kPart + 1 < kParts) add_kept<T, Keeping, kPart + 1>(mine, packs, kept_steps);
}

template <class Keeping, class T>
__device__ __forceinline__ Softmax softmax_of_thread(const PackedRow<T>& row) {
  Words* kept = Keeping::packs();
  const unsigned steps = row.steps();
  const unsigned kept_steps = Keeping::steps_of(steps);
#pragma unroll
  for (unsigned step = 0; step < Keeping::kStepsMost; ++step) {
    if (step < steps) copy_later<Keeping::kOnce>(kept + step * kRowThreads, row.pack_at(step));
    if ((step + 1) % Keeping::kStepsInPart == 0) end_part_of_copies();
  }
  end_part_of_copies();
  Words next[kAhead];
  if constexpr (!Keeping::kIsAll) {
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) {
      if (kept_steps + i < steps) next[i] = load_words<InCache::kWantedAgain>(row.pack_at(kept_steps + i));
    }
  }
  Running mine;
  add_kept<T, Keeping>(mine, kept, kept_steps);
  if constexpr (!Keeping::kIsAll) {
    const T* from = row.pack_at(kept_steps + kAhead);
#pragma unroll 1
    for (unsigned step = kept_steps; step < steps; ++step) {
      const Words pack = next[0];
#pragma unroll
      for (unsigned i = 1; i < kAhead; ++i) next[i - 1] = next[i];
      if (step + kAhead < steps) next[kAhead - 1] = load_words<InCache::kWantedAgain>(from);
      from += row.kStep;
      mine.add<T>(pack);
    }
  }
  if (row.packs % kRowThreads == threadIdx.x) {  // whose turn is next
    for (unsigned i = row.packs * row.kCount; i < row.vocabulary; ++i) mine.add_one(to_float(row.logits[i]));
  }
  return mine.softmax;
}

// In every thread; all threads of the block call it.
__device__ __forceinline__ Softmax softmax_of_block(Softmax mine) {
  __shared__ Softmax warps[kWarps];
  for (int distance = 16; distance > 0; distance /= 2) {
    const Softmax other{__shfl_xor_sync(kAllLanes, mine.scale, distance),
                        __shfl_xor_sync(kAllLanes, mine.sum, distance),
                        __shfl_xor_sync(kAllLanes, mine.smallest, distance)};
    mine = (threadIdx.x & static_cast<unsigned>(distance)) == 0 ? merged(mine, other) : merged(other, mine);
  }
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  Softmax all = warps[0];
  for (unsigned i = 1; i < kWarps; ++i) all = merged(all, warps[i]);
  return normalised(all);
}

// Makes probabilities of a row's powers of two.
template <class T>
struct Probabilities {
  Powers<T> powers;  // times 1 / sum; NaN where the row has a logit that is no number
  float scale;
  bool are_plain;  // the row counts, has no NaN, and all of it is near
};
template <class T>
__device__ __forceinline__ Probabilities<T> probabilities_of(const Softmax& all, bool is_counted) {
  Probabilities<T> of{{}, all.scale, is_counted && all.smallest >= least_near_power_at(all.scale)};
  const float inverse = 1.0F / all.sum;
  for (float& coefficient : of.powers.at) coefficient *= inverse;
  of.are_plain = of.are_plain && all.sum == all.sum;
  return of;
}

// The gradient at a column, whatever is in it.
template <class T>
__device__ __forceinline__ T gradient_of(const Probabilities<T>& of, T logit, bool is_target) {
  const float nan_or_0 = of.powers.at[0] - of.powers.at[0];
  const float p = power_of(of.powers, to_float(logit), of.scale) + nan_or_0;
  return from_float<T>(is_target ? p - 1.0F : p);
}

// The gradient of a pack of a plain row but for its target: all results are numbers.
template <class T>
__device__ __forceinline__ Pack<T> plain_gradient_of(const Probabilities<T>& of, const Words& pack) {
  const float shift = kShift - of.scale;
  const Floats<T> x = floats_of<T>(pack);
  float p[Pack<T>::kCount];
  for (unsigned i = 0; i < Pack<T>::kCount; ++i) p[i] = near_power_of(of.powers, x.at[i], shift);
  return pack_of_numbers<T>(p);
}

// Writes the gradient of the whole packs of a plain row over its logits.
template <class Keeping, class T>
__device__ __forceinline__ void store_plain_gradient(const PackedRow<T>& row, const Probabilities<T>& of) {
  const Words* kept = Keeping::packs();
  const unsigned steps = row.steps();
  const unsigned kept_steps = Keeping::steps_of(steps);
  if constexpr (!Keeping::kIsAll) {
    Words next[kAhead];
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) {
      if (steps > kept_steps + i) next[i] = load_words<InCache::kDoneWith>(row.pack_at(steps - 1 - i));
    }
    T* at = row.pack_at(steps);
#pragma unroll 1
    for (unsigned step = steps; step > kept_steps; --step) {
      const Words pack = next[0];
#pragma unroll
      for (unsigned i = 1; i < kAhead; ++i) next[i - 1] = next[i];
      at -= row.kStep;
      if (step > kept_steps + kAhead) next[kAhead - 1] = load_words<InCache::kDoneWith>(at - kAhead * row.kStep);
      store_pack<Keeping::kOnce>(at, plain_gradient_of(of, pack));
    }
  }
  T* at = row.pack_at(0);
#pragma unroll 1
  for (unsigned step = 0; step < kept_steps; ++step, at += row.kStep) {
    store_pack<Keeping::kOnce>(at, plain_gradient_of(of, kept[step * kRowThreads]));
  }
}

template <class Keeping, class T>
__global__ void __launch_bounds__(kRowThreads, kBlocksAtOnce) loss_kernel(LossShape shape, LossArrays<T> at) {
  const auto vocabulary = static_cast<unsigned>(shape.vocabulary);
  const PackedRow<T> row{at.logits + blockIdx.x * shape.stride, vocabulary, vocabulary / Pack<T>::kCount};
  const std::int32_t target = at.targets[blockIdx.x];
  const bool is_counted = target >= 0;
  const float of_target = is_counted ? to_float(row.logits[target]) : 0.0F;
  const Softmax all = softmax_of_block(softmax_of_thread<Keeping>(row));
  const Probabilities<T> of = probabilities_of<T>(all, is_counted);
  unsigned left = 0;  // the first column that is not yet written
  if (of.are_plain) {
    store_plain_gradient<Keeping>(row, of);
    left = row.packs * row.kCount;
    const auto column = static_cast<unsigned>(target);
    const bool is_own = column / row.kCount % kRowThreads == threadIdx.x;  // which has written its pack
    const float p = near_power_of(of.powers, of_target, kShift - of.scale);
    if (column < left && is_own) row.logits[column] = from_float<T>(p - 1.0F);
  }
  for (unsigned c = left + threadIdx.x; c < static_cast<unsigned>(shape.stride); c += kRowThreads) {
    const bool is_inside = is_counted && c < vocabulary;
    row.logits[c] = is_inside ? gradient_of(of, row.logits[c], c == static_cast<unsigned>(target)) : T{};
  }
  if (threadIdx.x != 0) return;
  const double power_of_target = static_cast<double>(of_target) * static_cast<double>(kLog2E);
  const double loss = std::fma(static_cast<double>(all.scale) - power_of_target, kLog2, logarithm(all.sum));
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

template <class T, unsigned kSteps>
LaunchError loss_keeping(const LossShape& shape, const LossArrays<T>& arrays, Stream stream) {
  const auto all_steps = parts_of(shape.vocabulary / Pack<T>::kCount, kRowThreads);
  Grid grid = one_block_each(shape.rows, kRowThreads);
  grid.shared_bytes = std::min<std::size_t>(all_steps, kSteps) * kStepBytes;
  grid.shared_bytes_most = kSteps * kStepBytes;
  return all_steps <= kSteps ? launch(grid, stream, loss_kernel<Kept<kSteps, true>, T>, shape, arrays)
                             : launch(grid, stream, loss_kernel<Kept<kSteps, false>, T>, shape, arrays);
}

template <class T>
LaunchError loss(const LossShape& shape, const LossArrays<T>& arrays, Stream stream) {
  if (shape.rows == 0) return kLaunched;
  const bool is_taken = shape.vocabulary > 0 && shape.stride >= shape.vocabulary && shape.stride % 8 == 0 &&
                        shape.stride <= kStrideMost && is_aligned(arrays.logits);
  if (!is_taken) return kRefusedShape;
  const std::size_t steps = shared_bytes_most(kBlocksAtOnce, kWarps * sizeof(Softmax)) / kStepBytes;
  if (steps >= kManySteps) return loss_keeping<T, kManySteps>(shape, arrays, stream);
  if (steps >= kSomeSteps) return loss_keeping<T, kSomeSteps>(shape, arrays, stream);
  return loss_keeping<T, kFewSteps>(shape, arrays, stream);
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
