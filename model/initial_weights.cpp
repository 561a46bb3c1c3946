// Draws initial weights of the distribution that the tensor's part asks for.
#include "model/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

void fill_normal(std::uint64_t seed, std::string_view name, double deviation, std::span<float> values) {
  const auto key = philox_key(seed);
  const std::uint64_t stream = stream_of(name);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto words = philox4x32(philox_counter(i / 2, stream), key);
    const double radius = deviation * std::sqrt(-2.0 * std::log(1.0 - uniform01(words[0], words[1])));
    const double angle = 2.0 * std::numbers::pi * uniform01(words[2], words[3]);
    values[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

void initial_weights(const ModelConfig& model, std::uint64_t seed, const TensorSpec& tensor, std::span<float> values) {
  ENSURE(static_cast<std::int64_t>(values.size()) == element_count(tensor), "one value per element of " + tensor.name);
  switch (tensor.initial) {
    case InitialValues::kOnes: std::fill(values.begin(), values.end(), 1.0F); break;
    case InitialValues::kZeros: std::fill(values.begin(), values.end(), 0.0F); break;
    case InitialValues::kNormal: fill_normal(seed, tensor.name, model.init_std, values); break;
    case InitialValues::kResidual: {
      const double scale = 1 / std::sqrt(2.0 * model.layers);
      fill_normal(seed, tensor.name, model.init_std * scale, values);
      break;
    }
  }
}

}  // namespace shoal
