// Draws initial weights of the distribution that the tensor's part asks for.
#include "model/initial_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <thread>
#include <vector>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr std::size_t kWorthAThread = std::size_t{1} << 18U;  // values; drawing them takes some milliseconds

struct Normal {
  std::array<std::uint32_t, 2> key;
  std::uint64_t stream = 0;  // of the tensor
  double deviation = 0;
};

// Draws the tensor's values from the one at `first` on, an even index.
void fill_stretch(const Normal& normal, std::size_t first, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto words = philox4x32(philox_counter((first + i) / 2, normal.stream), normal.key);
    const double radius = normal.deviation * std::sqrt(-2.0 * std::log(1.0 - uniform01(words[0], words[1])));
    const double angle = 2.0 * std::numbers::pi * uniform01(words[2], words[3]);
    values[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

// Divides a large tensor among the processor's cores: each value depends on its index alone.
void fill_normal(const Normal& normal, std::span<float> values) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(values.size() / kWorthAThread, 1, cores);
  const std::size_t of_each = values.size() / parts / 2 * 2;
  const auto fill_part = [&](std::size_t part) {
    const std::size_t first = part * of_each;
    fill_stretch(normal, first, values.subspan(first, part + 1 == parts ? std::dynamic_extent : of_each));
  };
  std::vector<std::jthread> others;  // end before what they refer to
  for (std::size_t part = 1; part < parts; ++part) others.emplace_back(fill_part, part);
  fill_part(0);
}

}  // namespace

void initial_weights(const ModelConfig& model, std::uint64_t seed, const TensorSpec& tensor, std::span<float> values) {
  ENSURE(static_cast<std::int64_t>(values.size()) == element_count(tensor), "one value per element of " + tensor.name);
  Normal normal{philox_key(seed), stream_of(tensor.name), model.init_std};
  switch (tensor.initial) {
    case InitialValues::kOnes: std::fill(values.begin(), values.end(), 1.0F); break;
    case InitialValues::kZeros: std::fill(values.begin(), values.end(), 0.0F); break;
    case InitialValues::kNormal: fill_normal(normal, values); break;
    case InitialValues::kResidual: {
      normal.deviation *= 1 / std::sqrt(2.0 * model.layers);
      fill_normal(normal, values);
      break;
    }
  }
}

}  // namespace shoal
