// Fixed point in double: 24 bits of a float times a power of two, and a half beside them, are exact.
#include "runtime/device/queue/device_sums.h"

#include <cmath>
#include <limits>

#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "model/update_kernels.h"
#include "runtime/device/digest.h"

#include "runtime/base/check_after_torch.h"

namespace shoal {
namespace {

constexpr float kExactLimitPerToken = 64;  // as gradient_sums.cpp has it
constexpr std::int64_t kNormPiece = 1 << 22;

// round(), halves away from zero.
at::Tensor rounded(const at::Tensor& values) {
  return at::where(values.lt(0), values.sub(0.5), values.add(0.5)).trunc_();
}

}  // namespace

DeviceSums::DeviceSums(const FlatLayout& layout, Reduction reduction, std::uint64_t planned_tokens, at::Device device)
    : layout_(layout), fraction_bits_(fraction_bits(planned_tokens)) {
  const auto size = static_cast<std::int64_t>(layout.size);
  const auto dtype = reduction == Reduction::kExact ? at::kLong : at::kFloat;
  sums_ = at::zeros({size}, at::TensorOptions(dtype).device(device));
  mean_ = at::zeros({size}, at::TensorOptions(at::kFloat).device(device));
}

at::Tensor DeviceSums::add(const FlatTensor& tensor, const at::Tensor& gradient, std::uint64_t microbatch_tokens) {
  const auto offset = static_cast<std::int64_t>(tensor.offset);
  const at::Tensor values = gradient.reshape({-1});
  CHECK(values.numel() == static_cast<std::int64_t>(tensor.count), "one gradient per element of " + tensor.spec.name);
  const float limit =
      is_exact() ? kExactLimitPerToken * static_cast<float>(microbatch_tokens) : std::numeric_limits<float>::max();
  const at::Tensor is_within = values.abs().le(limit).all();  // a comparison with NaN is false
  at::Tensor addend = is_exact() ? rounded(values.to(at::kDouble).mul_(std::ldexp(1.0, fraction_bits_))) : values;
  addend = at::where(is_within, addend, at::zeros_like(addend)).to(sums_.scalar_type());
  sums_.narrow(0, offset, values.numel()).add_(addend);
  return is_within;
}

void DeviceSums::clear() {
  sums_.zero_();
  has_mean_ = false;
}

at::Tensor DeviceSums::mean_of(const FlatTensor& tensor) const {
  return mean_.narrow(0, static_cast<std::int64_t>(tensor.offset), static_cast<std::int64_t>(tensor.count));
}

ReducedSum DeviceSums::adopt(const at::Tensor& sum, std::uint64_t token_count) {
  CHECK(sum.scalar_type() == sums_.scalar_type(), "a sum of the accumulators' type");
  CHECK(sum.numel() == sums_.numel(), "a sum of the accumulators' size");
  const double unit = is_exact() ? std::ldexp(1.0, -fraction_bits_) : 1.0;
  if (token_count == 0) {
    mean_.zero_();
  } else {
    mean_.copy_(sum.to(at::kDouble).mul_(unit).div_(static_cast<double>(token_count)));
  }
  has_mean_ = true;
  std::vector<at::Tensor> squares;
  for (const FlatTensor& tensor : layout_.tensors) squares.push_back(squared_norm(tensor));
  const at::Tensor norms = at::stack(squares).cpu();
  const at::Tensor values = mean_.cpu();
  ReducedSum reduced;
  Digest digest;
  const std::span<const float> all(values.const_data_ptr<float>(), layout_.size);
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
    const FlatTensor& tensor = layout_.tensors[i];
    digest.add(std::as_bytes(all.subspan(tensor.offset, tensor.count)));
    reduced.norms.push_back({tensor.spec.name, norms.const_data_ptr<double>()[i]});
  }
  reduced.digest = digest.value();
  return reduced;
}

at::Tensor DeviceSums::squared_norm(const FlatTensor& tensor) const {
  const at::Tensor mean = mean_of(tensor);
  at::Tensor sum = at::zeros({}, at::TensorOptions(at::kDouble).device(mean.device()));
  for (std::int64_t begin = 0; begin < mean.numel(); begin += kNormPiece) {
    const at::Tensor piece = mean.narrow(0, begin, std::min(kNormPiece, mean.numel() - begin)).to(at::kDouble);
    sum.add_(piece.square().sum());
  }
  return sum;
}

}  // namespace shoal
