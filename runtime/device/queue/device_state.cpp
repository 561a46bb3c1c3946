// Copies to and from the host wait: they stand between steps.
#include "runtime/device/queue/device_state.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "runtime/base/check_after_torch.h"

namespace shoal {
namespace {

at::Tensor over(std::span<float> values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::TensorOptions(at::kFloat));
}

}  // namespace

DeviceState::DeviceState(const FlatLayout& layout, const Config& config, at::Device device)
    : layout_(layout), optim_(config.optim), host_(layout, config) {
  const auto options = at::TensorOptions(at::kFloat).device(device);
  const auto size = static_cast<std::int64_t>(layout.size);
  for (std::size_t i = 0; i < host_.buffers().size(); ++i) buffers_.push_back(at::empty({size}, options));
  if (config.sync.mode == SyncMode::kDiloco) agreed_ = at::zeros({size}, options);
  push();
}

void DeviceState::push() {
  const auto buffers = host_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers_[i].copy_(over(buffers[i]));
  for (const FlatTensor& tensor : layout_.tensors) {
    if (!agreed_.defined()) break;
    const auto place =
        agreed_.narrow(0, static_cast<std::int64_t>(tensor.offset), static_cast<std::int64_t>(tensor.count));
    place.copy_(over(host_.agreed_of(tensor)));
  }
  is_host_behind_ = false;
}

StageState& DeviceState::pulled() {
  const auto buffers = host_.buffers();
  for (std::size_t i = 0; is_host_behind_ && i < buffers.size(); ++i) over(buffers[i]).copy_(buffers_[i]);
  is_host_behind_ = false;
  return host_;
}

WeightMap DeviceState::views_of(const at::Tensor& flat) const {
  WeightMap views;
  for (const FlatTensor& tensor : layout_.tensors) {
    const auto place =
        flat.narrow(0, static_cast<std::int64_t>(tensor.offset), static_cast<std::int64_t>(tensor.count));
    views[tensor.spec.name] = place.view(tensor.spec.shape);
  }
  return views;
}

at::Tensor DeviceState::part_of(std::size_t buffer, const FlatTensor& tensor) const {
  return buffers_[buffer].narrow(0, static_cast<std::int64_t>(tensor.offset), static_cast<std::int64_t>(tensor.count));
}

void DeviceState::update(const DeviceSums& sums, const UpdateOrder& order) {
  for (std::size_t index = 0; index < layout_.tensors.size(); ++index) {
    const FlatTensor& tensor = layout_.tensors[index];
    const at::Tensor mean = sums.mean_of(tensor);
    if (optim_.kind == OptimizerKind::kAdamw) {
      update_adamw(index, mean, order);
      continue;
    }
    const double decay = tensor.spec.decays ? optim_.weight_decay : 0;
    const at::Tensor weights = part_of(0, tensor);
    weights.mul_(static_cast<float>(1 - order.learning_rate * decay));
    weights.sub_(mean.mul(static_cast<float>(order.clip_scale)), static_cast<float>(order.learning_rate));
  }
  is_host_behind_ = true;
}

// The formula of apply_adamw() in torch's operators, which round more often than its explicit fma.
void DeviceState::update_adamw(std::size_t index, const at::Tensor& mean, const UpdateOrder& order) {
  const FlatTensor& tensor = layout_.tensors[index];
  const AdamwCoefficients c = adamw_coefficients(host_.next_adamw_rule(index, order));
  const at::Tensor weights = part_of(0, tensor);
  const at::Tensor average = part_of(1, tensor);
  const at::Tensor average_sq = part_of(2, tensor);
  const at::Tensor gradient = mean.mul(c.clip_scale);
  weights.mul_(c.decay);
  average.add_(gradient.sub(average), c.one_minus_beta1);
  average_sq.mul_(c.beta2).addcmul_(gradient, gradient, c.one_minus_beta2);
  weights.addcdiv_(average, average_sq.sqrt().div_(c.root_correction).add_(c.eps), -c.step_size);
}

}  // namespace shoal
