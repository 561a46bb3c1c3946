// Accumulates, and turns the step's sum into mean, digest and norms.
#include "runtime/device/gradient_sums.h"

#include <cstring>
#include <limits>
#include <memory>

#include "model/update_kernels.h"
#include "runtime/base/ensure.h"
#include "runtime/device/digest.h"

namespace shoal {
namespace {

template <class T>
TensorBlob copy_of(std::span<const T> values, DType dtype) {
  auto bytes = std::make_shared<AlignedBuffer>(values.size_bytes());
  std::memcpy(bytes->data(), values.data(), values.size_bytes());
  return {dtype, {static_cast<std::int64_t>(values.size())}, bytes};
}

std::variant<FlatBuffer<float>, FlatBuffer<std::int64_t>> make_sums(std::size_t size, Reduction reduction) {
  using Sums = std::variant<FlatBuffer<float>, FlatBuffer<std::int64_t>>;
  if (reduction == Reduction::kExact) return Sums(std::in_place_type<FlatBuffer<std::int64_t>>, size);
  return Sums(std::in_place_type<FlatBuffer<float>>, size);
}

}  // namespace

// Exact mode's range per token: a mean gradient of 64 is beyond anything that trains.
float largest_addend(Reduction reduction, std::uint64_t microbatch_tokens) {
  constexpr float kExactPerToken = 64;
  const bool is_exact = reduction == Reduction::kExact;
  return is_exact ? kExactPerToken * static_cast<float>(microbatch_tokens) : std::numeric_limits<float>::max();
}

GradientSums::GradientSums(const FlatLayout& layout, Reduction reduction, std::uint64_t planned_tokens)
    : layout_(layout),
      fraction_bits_(fraction_bits(planned_tokens)),
      sums_(make_sums(layout.size, reduction)),
      mean_(layout.size) {}

bool GradientSums::add(const FlatTensor& tensor, std::span<const float> gradient, std::uint64_t microbatch_tokens) {
  ENSURE(gradient.size() == tensor.count, "one gradient per element of " + tensor.spec.name);
  if (auto* exact = std::get_if<FlatBuffer<std::int64_t>>(&sums_)) {
    if (!all_within(gradient, largest_addend(Reduction::kExact, microbatch_tokens))) return false;
    accumulate_exact(gradient, fraction_bits_, exact->of(tensor));
    return true;
  }
  if (!all_within(gradient, largest_addend(Reduction::kFast, microbatch_tokens))) return false;
  accumulate_fast(gradient, std::get<FlatBuffer<float>>(sums_).of(tensor));
  return true;
}

void GradientSums::clear() {
  std::visit([](auto& sums) { sums.clear(); }, sums_);
  has_mean_ = false;
}

TensorBlob GradientSums::contribution() const {
  if (const auto* exact = std::get_if<FlatBuffer<std::int64_t>>(&sums_)) return copy_of(exact->all(), DType::kInt64);
  return copy_of(std::get<FlatBuffer<float>>(sums_).all(), DType::kFloat32);
}

ReducedSum GradientSums::adopt(const TensorBlob& sum, std::uint64_t token_count) {
  const bool is_exact = std::holds_alternative<FlatBuffer<std::int64_t>>(sums_);
  ENSURE(sum.dtype == (is_exact ? DType::kInt64 : DType::kFloat32), "a sum of the accumulators' type");
  ENSURE(sum.element_count() == static_cast<std::int64_t>(layout_.size), "a sum of the accumulators' size");
  if (token_count == 0) {
    mean_.clear();
  } else if (is_exact) {
    mean_of_exact({sum.as<std::int64_t>(), layout_.size}, fraction_bits_, token_count, mean_.all());
  } else {
    mean_of_fast({sum.as<float>(), layout_.size}, token_count, mean_.all());
  }
  has_mean_ = true;

  ReducedSum reduced;
  Digest digest;
  for (const FlatTensor& tensor : layout_.tensors) {
    digest.add(std::as_bytes(mean_of(tensor)));
    reduced.norms.push_back({tensor.spec.name, squared_norm(mean_of(tensor))});
  }
  reduced.digest = digest.value();
  return reduced;
}

}  // namespace shoal
