// Narrows flat arrays to each tensor.
#include "runtime/base/check.h"
#include "runtime/device/queue/math/flat_math.h"

#include <cstring>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "runtime/device/digest.h"

#include "runtime/base/check_after_torch.h"

namespace shoal {
namespace {

at::Tensor part_of(const at::Tensor& flat, const FlatSpan& span) {
  return flat.defined() ? flat.narrow(0, span.offset, span.count) : flat;
}

class OneAfterAnother final : public FlatMath {
 public:
  OneAfterAnother(const DeviceMath& math, std::vector<FlatSpan> spans) : math_(math), spans_(std::move(spans)) {}

  [[nodiscard]] at::Tensor add_within(const DeviceMath::Addition& into, std::size_t first,
                                      std::span<const at::Tensor> gradients) const override {
    std::vector<at::Tensor> is_within;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor sums = part_of(into.sums, spans_.at(first + i));
      is_within.push_back(math_.add_within({sums, into.fraction_bits, into.limit}, gradients[i].reshape({-1})));
    }
    return at::stack(is_within);
  }

  [[nodiscard]] at::Tensor squared_norms(const at::Tensor& flat) const override {
    std::vector<at::Tensor> norms;
    for (const FlatSpan& span : spans_) norms.push_back(math_.squared_norm(part_of(flat, span)));
    return norms.empty() ? at::empty({0}, flat.options().dtype(at::kDouble)) : at::stack(norms);
  }

  [[nodiscard]] at::Tensor block_values(const at::Tensor& flat) const override {
    std::vector<at::Tensor> values;
    for (const FlatSpan& span : spans_) values.push_back(math_.block_values(part_of(flat, span)));
    return values.empty() ? at::empty({0}, at::kLong) : at::cat(values);
  }

  void apply_adamw(std::span<const AdamwCoefficients> coefficients,
                   const DeviceMath::AdamwTensors& tensors) const override {
    CHECK(coefficients.size() == spans_.size(), "coefficients of each tensor");
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const FlatSpan& span = spans_[i];
      math_.apply_adamw(coefficients[i], {part_of(tensors.weights, span), part_of(tensors.average, span),
                                          part_of(tensors.average_sq, span), part_of(tensors.gradient, span),
                                          part_of(tensors.copy, {span.copy, span.count})});
    }
  }

 private:
  const DeviceMath& math_;
  std::vector<FlatSpan> spans_;
};

}  // namespace

std::unique_ptr<FlatMath> one_after_another(const DeviceMath& math, std::vector<FlatSpan> spans) {
  return std::make_unique<OneAfterAnother>(math, std::move(spans));
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
