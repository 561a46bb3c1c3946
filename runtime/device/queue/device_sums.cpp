// Decides which values are added, and what is copied to the host of the step's sum.
#include "runtime/device/queue/device_sums.h"

#include <utility>

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "model/update_kernels.h"
#include "runtime/base/ensure.h"
#include "runtime/device/gradient_sums.h"

namespace shoal {

std::vector<FlatSpan> spans_of(const FlatLayout& layout, const FlatLayout* copies) {
  std::vector<FlatSpan> spans;
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    const FlatTensor& tensor = layout.tensors[i];
    const std::size_t copy = copies == nullptr ? tensor.offset : copies->tensors[i].offset;
    spans.push_back({static_cast<std::int64_t>(tensor.offset), static_cast<std::int64_t>(tensor.count),
                     static_cast<std::int64_t>(copy)});
  }
  return spans;
}

std::size_t end_of_group(const FlatLayout& layout, std::size_t first, std::size_t bytes) {
  std::size_t total = 0;
  for (std::size_t i = first; i < layout.tensors.size(); ++i) {
    total += layout.tensors[i].count * sizeof(float);
    if (total > bytes && i > first) return i;
  }
  return layout.tensors.size();
}

DeviceSums::DeviceSums(const FlatLayout& layout, Reduction reduction, std::uint64_t planned_tokens, const Place& place)
    : layout_(layout),
      math_(place.math),
      flat_math_(math_.of_flat(spans_of(layout), place.device)),
      fraction_bits_(fraction_bits(planned_tokens)) {
  const auto size = static_cast<std::int64_t>(layout.size);
  const auto dtype = reduction == Reduction::kExact ? at::kLong : at::kFloat;
  sums_ = at::zeros({size}, at::TensorOptions(dtype).device(place.device));
  mean_ = at::zeros({size}, at::TensorOptions(at::kFloat).device(place.device));
}

at::Tensor DeviceSums::add(std::size_t first, std::span<const at::Tensor> gradients, std::uint64_t microbatch_tokens) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const FlatTensor& tensor = layout_.tensors.at(first + i);
    const bool fits = gradients[i].numel() == static_cast<std::int64_t>(tensor.count);
    ENSURE(fits, "one gradient per element of " + tensor.spec.name);
  }
  const float limit = largest_addend(is_exact() ? Reduction::kExact : Reduction::kFast, microbatch_tokens);
  return flat_math_->add_within({sums_, fraction_bits_, limit}, first, gradients);
}

void DeviceSums::clear() {
  const bool is_read_elsewhere = sums_.use_count() > 1;
  if (is_read_elsewhere) sums_ = at::zeros_like(sums_);
  if (!is_read_elsewhere) sums_.zero_();
  has_mean_ = false;
}

void DeviceSums::leave_to_readers() {
  const auto sum = std::exchange(adopted_, {}).lock();
  const bool is_read_elsewhere = sum.use_count() > 1;
  if (is_read_elsewhere) sum->leave_device();
}

at::Tensor DeviceSums::mean_of(const FlatTensor& tensor) const {
  return mean_.narrow(0, static_cast<std::int64_t>(tensor.offset), static_cast<std::int64_t>(tensor.count));
}

ReducedSum DeviceSums::adopt(const at::Tensor& sum, std::uint64_t token_count) {
  ENSURE(sum.scalar_type() == sums_.scalar_type(), "a sum of the accumulators' type");
  ENSURE(sum.numel() == sums_.numel(), "a sum of the accumulators' size");
  if (token_count == 0) {
    mean_.zero_();
  } else {
    math_.divide({sum, fraction_bits_, token_count}, mean_);
  }
  has_mean_ = true;
  ReducedSum reduced;
  const at::Tensor squares = flat_math_->squared_norms(mean_);
  reduced.digest = digest_of_values({flat_math_->block_values(mean_)});
  const at::Tensor norms = squares.cpu();
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
    reduced.norms.push_back({layout_.tensors[i].spec.name, norms.const_data_ptr<double>()[i]});
  }
  return reduced;
}

}  // namespace shoal
