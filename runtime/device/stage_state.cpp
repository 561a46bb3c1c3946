// Weights and averages: update, digest, image.
#include "runtime/device/stage_state.h"

#include <cstring>
#include <utility>

#include "model/initial_weights.h"
#include "model/update_kernels.h"
#include "runtime/base/compose.h"
#include "runtime/device/digest.h"
#include "runtime/storage/safetensors.h"

namespace shoal {
namespace {

std::size_t average_size(const FlatLayout& layout, const OptimConfig& optim) {
  return optim.kind == OptimizerKind::kAdamw ? layout.size : 0;
}

Result<std::span<const std::byte>> find_bytes(const std::vector<StoredTensor>& stored, const std::string& name,
                                              const TensorSpec& spec) {
  const StoredTensor* tensor = find_tensor(stored, name);
  if (tensor == nullptr) {
    return fail(Error::kInvalidData, "the state has no tensor '" + name + "'; it belongs to another model");
  }
  if (tensor->dtype != DType::kFloat32 || tensor->shape != spec.shape) {
    return fail(
        Error::kInvalidData,
        "tensor '" + name + "' of the state has another type or shape than this model's; check the [model] keys");
  }
  return tensor->bytes;
}

}  // namespace

StageState::StageState(const FlatLayout& layout, const Config& config)
    : layout_(layout),
      optim_(config.optim),
      weights_(layout.size),
      exp_avg_(average_size(layout, config.optim)),
      exp_avg_sq_(average_size(layout, config.optim)) {
  for (const FlatTensor& tensor : layout_.tensors) {
    initial_weights(config.model, config.run.seed, tensor.spec, weights_.of(tensor));
  }
}

void StageState::update(const GradientSums& sums, const UpdateOrder& order) {
  for (const FlatTensor& tensor : layout_.tensors) {
    const double weight_decay = tensor.spec.shape.size() == 2 ? optim_.weight_decay : 0;
    if (optim_.kind == OptimizerKind::kSgd) {
      const SgdCoefficients coefficients{static_cast<float>(order.clip_scale),
                                         static_cast<float>(1 - order.learning_rate * weight_decay),
                                         static_cast<float>(order.learning_rate)};
      apply_sgd(coefficients, weights_.of(tensor), sums.mean_of(tensor));
      continue;
    }
    const AdamwRule rule{.learning_rate = order.learning_rate,
                         .clip_scale = order.clip_scale,
                         .beta1 = optim_.beta1,
                         .beta2 = optim_.beta2,
                         .eps = optim_.eps,
                         .weight_decay = weight_decay,
                         .optimizer_step = order.optimizer_step};
    apply_adamw(adamw_coefficients(rule),
                {weights_.of(tensor), exp_avg_.of(tensor), exp_avg_sq_.of(tensor), sums.mean_of(tensor)});
  }
}

template <class Self>
auto StageState::parts(Self& self) {
  std::vector<std::pair<std::string, decltype(&self.weights_)>> parts = {{"", &self.weights_}};
  if (self.optim_.kind == OptimizerKind::kAdamw) {
    parts.emplace_back("optimizer.exp_avg.", &self.exp_avg_);
    parts.emplace_back("optimizer.exp_avg_sq.", &self.exp_avg_sq_);
  }
  return parts;
}

std::uint64_t StageState::digest() const {
  Digest digest;
  for (const auto& [prefix, buffer] : parts(*this)) {
    for (const FlatTensor& tensor : layout_.tensors) digest.add(std::as_bytes(std::span(buffer->of(tensor))));
  }
  return digest.value();
}

TensorBlob StageState::image() const {
  std::vector<StoredTensor> tensors;
  for (const auto& [prefix, buffer] : parts(*this)) {
    for (const FlatTensor& tensor : layout_.tensors) {
      tensors.push_back({prefix + tensor.spec.name, DType::kFloat32, tensor.spec.shape,
                         std::as_bytes(std::span(buffer->of(tensor)))});
    }
  }
  return build_safetensors(std::move(tensors));
}

Status StageState::load(const TensorBlob& image) {
  if (!image.has_value() || image.dtype != DType::kUint8) return fail(Error::kInvalidData, "the state image is empty");
  const auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "the state image");
  if (!stored.ok()) return stored.failure();
  struct Copy {
    std::span<float> to;
    std::span<const std::byte> from;
  };
  std::vector<Copy> copies;
  for (const auto& [prefix, buffer] : parts(*this)) {
    for (const FlatTensor& tensor : layout_.tensors) {
      const auto found = find_bytes(*stored, prefix + tensor.spec.name, tensor.spec);
      if (!found.ok()) return found.failure();
      copies.push_back({buffer->of(tensor), *found});
    }
  }
  for (const Copy& copy : copies) std::memcpy(copy.to.data(), copy.from.data(), copy.to.size_bytes());
  return Done{};
}

}  // namespace shoal
