// Lanes are written out, so that the compiler may keep them in one vector without reordering a sum.
#include "model/attention_kernels.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "model/arithmetic/exponential.h"
#include "runtime/base/arithmetic/bf16.h"
#include "runtime/base/arithmetic/vector_clones.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr std::size_t kLanes = 16;

inline __attribute__((always_inline)) float add_up(const float* lanes) {
  float sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  return sum;
}

SHOAL_VECTOR_CLONES float largest(const float* __restrict x, std::size_t count) {
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) lanes[lane] = std::max(lanes[lane], x[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

SHOAL_VECTOR_CLONES float exponentials(const float* __restrict x, std::uint16_t* __restrict to, std::size_t count,
                                       float scale, float peak) {
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float e = exponential(std::fma(x[i + lane], scale, -peak));
      lanes[lane] += e;
      to[i + lane] = to_bf16_or_nan(e);
    }
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) {
    const float e = exponential(std::fma(x[i], scale, -peak));
    lanes[lane] += e;
    to[i] = to_bf16_or_nan(e);
  }
  return add_up(lanes);
}

SHOAL_VECTOR_CLONES void gradients(const float* __restrict x, const float* __restrict dweights, std::size_t count,
                                   const KnownRow& row, const RowGradients& to) {
  const KnownRow known = row;
  std::uint16_t* __restrict weights = to.weights.data();
  std::uint16_t* __restrict dscores = to.dscores.data();
  for (std::size_t i = 0; i < count; ++i) {
    const float weight = exponential(std::fma(x[i], known.scale, -known.logsumexp));
    weights[i] = to_bf16_or_nan(weight);
    dscores[i] = to_bf16_or_nan(weight * (dweights[i] - known.delta) * known.scale);
  }
}

SHOAL_VECTOR_CLONES float dot_of(const std::uint16_t* __restrict a, const std::uint16_t* __restrict b,
                                 std::size_t count) {
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = std::fma(float_of_bf16(a[i + lane]), float_of_bf16(b[i + lane]), lanes[lane]);
    }
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) {
    lanes[lane] = std::fma(float_of_bf16(a[i]), float_of_bf16(b[i]), lanes[lane]);
  }
  return add_up(lanes);
}

SHOAL_VECTOR_CLONES void scale_to(const float* __restrict from, float factor, std::uint16_t* __restrict to,
                                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_bf16_or_nan(factor * from[i]);
}

}  // namespace

SoftmaxRow softmax_row(std::span<const float> scores, float scale, std::span<std::uint16_t> weights) {
  ENSURE(scores.size() == weights.size() && !scores.empty(), "one weight per score");
  SoftmaxRow row;
  row.peak = scale * largest(scores.data(), scores.size());
  row.sum = exponentials(scores.data(), weights.data(), scores.size(), scale, row.peak);
  return row;
}

void softmax_row_backward(std::span<const float> scores, std::span<const float> dweights, const KnownRow& row,
                          const RowGradients& to) {
  const std::size_t count = scores.size();
  ENSURE(dweights.size() == count && to.weights.size() == count && to.dscores.size() == count, "one value per score");
  gradients(scores.data(), dweights.data(), count, row, to);
}

float dot(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  ENSURE(a.size() == b.size(), "vectors of one size");
  return dot_of(a.data(), b.data(), a.size());
}

void scale_to_bf16(std::span<const float> from, float factor, std::span<std::uint16_t> to) {
  ENSURE(from.size() == to.size(), "one result per value");
  scale_to(from.data(), factor, to.data(), to.size());
}

}  // namespace shoal
