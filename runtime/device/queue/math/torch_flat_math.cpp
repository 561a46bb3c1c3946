// Narrows flat arrays to each tensor. Fixed point in double: 24 bits of a float times a power of two, and a half beside
// them, are exact.
#include "runtime/base/ensure.h"
#include "runtime/device/queue/math/flat_math.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/device/digest.h"

namespace shoal {
namespace {

constexpr std::int64_t kNormPiece = 1 << 22;

at::Tensor part_of(const at::Tensor& flat, const FlatSpan& span) {
  return flat.defined() ? flat.narrow(0, span.offset, span.count) : flat;
}

// round(), halves away from zero.
at::Tensor rounded(const at::Tensor& values) {
  return at::where(values.lt(0), values.sub(0.5), values.add(0.5)).trunc_();
}

// Returns bool []: it was added.
at::Tensor add_one(const FlatMath::Addition& into, const at::Tensor& sums, const at::Tensor& values) {
  const at::Tensor is_within = values.abs().le(into.limit).all();  // a comparison with NaN is false
  const bool is_exact = sums.scalar_type() == at::kLong;
  at::Tensor addend = values;
  if (is_exact) addend = rounded(values.to(at::kDouble).mul_(std::ldexp(1.0, into.fraction_bits)));
  addend = at::where(is_within, addend, at::zeros_like(addend)).to(sums.scalar_type());
  sums.add_(addend);
  return is_within;
}

at::Tensor squared_norm(const at::Tensor& values) {
  at::Tensor sum = at::zeros({}, at::TensorOptions(at::kDouble).device(values.device()));
  for (std::int64_t begin = 0; begin < values.numel(); begin += kNormPiece) {
    const at::Tensor piece = values.narrow(0, begin, std::min(kNormPiece, values.numel() - begin)).to(at::kDouble);
    sum.add_(piece.square().sum());
  }
  return sum;
}

void update_one(const AdamwCoefficients& c, const FlatMath::AdamwTensors& at) {
  const at::Tensor gradient = at.gradient.mul(c.clip_scale);
  at.weights.mul_(c.decay);
  at.average.add_(gradient.sub(at.average), c.one_minus_beta1);
  at.average_sq.mul_(c.beta2).addcmul_(gradient, gradient, c.one_minus_beta2);
  at.weights.addcdiv_(at.average, at.average_sq.sqrt().div_(c.root_correction).add_(c.eps), -c.step_size);
  if (at.copy.defined()) at.copy.copy_(at.weights);
}

class TorchFlatMath final : public FlatMath {
 public:
  explicit TorchFlatMath(std::vector<FlatSpan> spans) : spans_(std::move(spans)) {}

  [[nodiscard]] at::Tensor add_within(const Addition& into, std::size_t first,
                                      std::span<const at::Tensor> gradients) const override {
    std::vector<at::Tensor> is_within;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      is_within.push_back(add_one(into, part_of(into.sums, spans_.at(first + i)), gradients[i].reshape({-1})));
    }
    return at::stack(is_within);
  }

  [[nodiscard]] at::Tensor squared_norms(const at::Tensor& flat) const override {
    std::vector<at::Tensor> norms;
    for (const FlatSpan& span : spans_) norms.push_back(squared_norm(part_of(flat, span)));
    return norms.empty() ? at::empty({0}, flat.options().dtype(at::kDouble)) : at::stack(norms);
  }

  [[nodiscard]] at::Tensor block_values(const at::Tensor& flat) const override {
    const at::Tensor host = flat.cpu();
    std::vector<std::uint64_t> values;
    for (const FlatSpan& span : spans_) {
      const at::Tensor part = part_of(host, span);
      append_block_values({static_cast<const std::byte*>(part.const_data_ptr()), part.nbytes()}, values);
    }
    const at::Tensor result = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
    if (!values.empty()) std::memcpy(result.mutable_data_ptr(), values.data(), values.size() * sizeof(std::uint64_t));
    return result;
  }

  void apply_adamw(std::span<const AdamwCoefficients> coefficients, const AdamwTensors& tensors) const override {
    ENSURE(coefficients.size() == spans_.size(), "coefficients of each tensor");
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const FlatSpan& span = spans_[i];
      update_one(coefficients[i],
                 {part_of(tensors.weights, span), part_of(tensors.average, span), part_of(tensors.average_sq, span),
                  part_of(tensors.gradient, span), part_of(tensors.copy, {span.copy, span.count})});
    }
  }

 private:
  std::vector<FlatSpan> spans_;
};

}  // namespace

std::unique_ptr<FlatMath> torch_flat_math(std::vector<FlatSpan> spans) {
  return std::make_unique<TorchFlatMath>(std::move(spans));
}

std::uint64_t digest_of_values(const std::vector<at::Tensor>& values) {
  Digest digest;
  if (values.empty()) return digest.value();
  const at::Tensor host = at::cat(values).cpu();
  std::vector<std::uint64_t> words(static_cast<std::size_t>(host.numel()));
  if (!words.empty()) std::memcpy(words.data(), host.const_data_ptr(), host.nbytes());
  digest.add_values(words);
  return digest.value();
}

}  // namespace shoal
