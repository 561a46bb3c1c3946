// Draws masks: one Philox block gives the words of four elements.
#include "model/dropout.h"

#include <string>

#include <ATen/ops/empty.h>

#include "runtime/base/counter_random.h"

namespace shoal {
namespace {

std::uint64_t mask_stream(std::uint64_t sample, int layer, DropoutSite site) {
  return stream_of("dropout " + std::to_string(layer) + " " + std::to_string(static_cast<std::uint32_t>(site)) + " " +
                   std::to_string(sample));
}

}  // namespace

std::vector<std::uint64_t> Dropout::streams(std::int64_t samples, int layer, DropoutSite site) const {
  std::vector<std::uint64_t> streams;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    streams.push_back(mask_stream(first_sample + static_cast<std::uint64_t>(sample), layer, site));
  }
  return streams;
}

at::Tensor Dropout::mask(at::IntArrayRef sizes_BTC, int layer, DropoutSite site) const {
  const at::Tensor mask_BTC = at::empty(sizes_BTC, at::kFloat);
  const std::int64_t samples = mask_BTC.size(0);
  const std::int64_t elements = samples == 0 ? 0 : mask_BTC.numel() / samples;
  const auto key = philox_key(seed);
  auto* to = mask_BTC.mutable_data_ptr<float>();
  for (const std::uint64_t stream : streams(samples, layer, site)) {
    for (std::int64_t i = 0; i < elements; i += 4) {
      const std::uint64_t index = step << 32U | static_cast<std::uint64_t>(i / 4);
      const auto words = philox4x32(philox_counter(index, stream), key);
      for (std::int64_t k = 0; k < 4 && i + k < elements; ++k) {
        *to++ = words[static_cast<std::size_t>(k)] < threshold() ? 0.0F : kept();
      }
    }
  }
  return mask_BTC;
}

}  // namespace shoal
