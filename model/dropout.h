// Dropout masks as a function of (seed, step, sample, layer, site), drawn by our own generator.
//
// A replaced worker, a recomputed forward and another cut draw the same mask: nothing depends on who drew before.
// Site and place: on the embedding's sum, and on both residual branches of a layer. Torch's generator is never used.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace shoal {

// Place where a mask is used. The numbers are part of the stream's definition: never renumber.
enum class DropoutSite : std::uint32_t { kEmbedding = 0, kAttention = 1, kMlp = 2 };

// One microbatch's dropout. Samples are numbered over the whole step: first_sample + row.
struct Dropout {
  double rate = 0;  // 0: off
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t first_sample = 0;

  // Returns the factors, 0 or 1 / (1 - rate), of an activation of these sizes: float32 [B,T,C].
  [[nodiscard]] at::Tensor mask(at::IntArrayRef sizes_BTC, int layer, DropoutSite site) const;
  // The streams of random words of so many samples; a word below threshold() drops its element.
  [[nodiscard]] std::vector<std::uint64_t> streams(std::int64_t samples, int layer, DropoutSite site) const;
  [[nodiscard]] std::uint64_t threshold() const { return static_cast<std::uint64_t>(rate * 0x1p32); }
  [[nodiscard]] float kept() const { return static_cast<float>(1 / (1 - rate)); }
};

}  // namespace shoal
