// Vectors of random floats for tests of what is encoded and summed, and how far two of them are apart. All are made
// from a seed, so that a failure can be seen again.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "messages/tensor_blob.h"

namespace shoal {

[[nodiscard]] inline std::vector<float> gaussian_values(std::uint64_t seed, std::size_t count, float scale = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Heavy tails: a few values far beyond all others.
[[nodiscard]] inline std::vector<float> student_t3_values(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::student_t_distribution<float> student(3);
  std::vector<float> values(count);
  for (float& value : values) value = student(random);
  return values;
}

[[nodiscard]] inline TensorBlob blob_of(std::span<const float> values) {
  auto bytes = std::make_shared<AlignedBuffer>(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), values.size_bytes());
  return TensorBlob{DType::kFloat32, {static_cast<std::int64_t>(values.size())}, std::move(bytes)};
}
[[nodiscard]] inline std::vector<float> floats_of(const TensorBlob& blob) {
  return {blob.as<float>(), blob.as<float>() + blob.element_count()};
}

[[nodiscard]] inline double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t at = 0; at < a.size(); ++at) sum += static_cast<double>(a[at]) * b[at];
  return sum;
}
// |got - wanted| / |wanted|
[[nodiscard]] inline double relative_l2(std::span<const float> got, std::span<const float> wanted) {
  double sum = 0;
  for (std::size_t at = 0; at < got.size(); ++at) {
    const double difference = static_cast<double>(got[at]) - wanted[at];
    sum += difference * difference;
  }
  return std::sqrt(sum / dot(wanted, wanted));
}
[[nodiscard]] inline double cosine(std::span<const float> a, std::span<const float> b) {
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

}  // namespace shoal
