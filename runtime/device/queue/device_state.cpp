// Copies to and from the host wait: they stand between steps.
#include "runtime/device/queue/device_state.h"

#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace shoal {
namespace {

at::Tensor over(std::span<float> values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::TensorOptions(at::kFloat));
}

}  // namespace

DeviceState::DeviceState(const FlatLayout& layout, const Config& config, at::Device device, const DeviceMath& math,
                         BeginsWith begins)
    : layout_(layout),
      copy_layout_(layout.of_copies()),
      math_(math),
      flat_math_(math.of_flat(spans_of(layout, &copy_layout_), device)),
      optim_(config.optim),
      host_(layout, config, begins) {
  const auto options = at::TensorOptions(at::kFloat).device(device);
  const auto size = static_cast<std::int64_t>(layout.size);
  const bool has_rounds = config.sync.mode == SyncMode::kDiloco;
  for (std::size_t i = 0; i < host_.buffers().size(); ++i) buffers_.push_back(at::empty({size}, options));
  if (has_rounds) agreed_ = at::zeros({size}, options);
  if (config.model.precision == Precision::kBf16) {
    const auto copied = static_cast<std::int64_t>(copy_layout_.size);
    copies_ = at::zeros({copied}, options.dtype(at::kBFloat16));
    if (has_rounds) agreed_copies_ = at::zeros({copied}, options.dtype(at::kBFloat16));
  }
  if (begins == BeginsWith::kInitialWeights) push();
}

void DeviceState::push() {
  const auto buffers = host_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers_[i].copy_(over(buffers[i]));
  for (const FlatTensor& tensor : layout_.tensors) {
    if (agreed_.defined()) part_of(agreed_, tensor).copy_(over(host_.agreed_of(tensor)));
  }
  write_copies();
  is_host_behind_ = false;
}

void DeviceState::write_copies() {
  if (copies_.defined()) write_copy(copies_, buffers_.front());
  if (agreed_copies_.defined()) write_copy(agreed_copies_, agreed_);
}

void DeviceState::write_copy(const at::Tensor& copy, const at::Tensor& from) {
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
    part_of(copy, copy_layout_.tensors[i]).copy_(part_of(from, layout_.tensors[i]));
  }
}

StageState& DeviceState::pulled() {
  if (!std::exchange(is_host_behind_, false)) return host_;
  host_.keep_for_readers();
  const auto buffers = host_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) over(buffers[i]).copy_(buffers_[i]);
  return host_;
}

WeightMap DeviceState::views_of(const at::Tensor& flat, const FlatLayout& layout) {
  WeightMap views;
  if (!flat.defined()) return views;
  for (const FlatTensor& tensor : layout.tensors) {
    views[tensor.spec.name] = part_of(flat, tensor).view(tensor.spec.shape);
  }
  return views;
}

at::Tensor DeviceState::part_of(const at::Tensor& flat, const FlatTensor& tensor) {
  return flat.narrow(0, static_cast<std::int64_t>(tensor.offset), static_cast<std::int64_t>(tensor.count));
}

void DeviceState::update(const DeviceSums& sums, const UpdateOrder& order) {
  ensure_begun();
  is_host_behind_ = true;
  switch (optim_.kind) {
    case OptimizerKind::kAdamw: return update_by_adamw(sums, order);
    case OptimizerKind::kSgd: return update_by_sgd(sums, order);
  }
}

void DeviceState::update_by_adamw(const DeviceSums& sums, const UpdateOrder& order) {
  std::vector<AdamwCoefficients> coefficients;
  for (std::size_t index = 0; index < layout_.tensors.size(); ++index) {
    coefficients.push_back(adamw_coefficients(host_.next_adamw_rule(index, order)));
  }
  flat_math_->apply_adamw(coefficients, {buffers_[0], buffers_[1], buffers_[2], sums.mean(), copies_});
}

void DeviceState::update_by_sgd(const DeviceSums& sums, const UpdateOrder& order) {
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
    const FlatTensor& tensor = layout_.tensors[i];
    const at::Tensor copy = copies_.defined() ? part_of(copies_, copy_layout_.tensors[i]) : at::Tensor();
    const double decay = tensor.spec.decays ? optim_.weight_decay : 0;
    const SgdCoefficients coefficients{static_cast<float>(order.clip_scale),
                                       static_cast<float>(1 - order.learning_rate * decay),
                                       static_cast<float>(order.learning_rate)};
    math_.apply_sgd(coefficients, {part_of(buffers_[0], tensor), sums.mean_of(tensor), copy});
  }
}

// With rounds it is of the outer state, which the host has.
std::uint64_t DeviceState::digest() const {
  ensure_begun();
  if (agreed_.defined()) return host_.digest();
  std::vector<at::Tensor> values;
  for (const at::Tensor& buffer : buffers_) values.push_back(flat_math_->block_values(buffer));
  return digest_of_values(values);
}

}  // namespace shoal
