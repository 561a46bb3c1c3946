// Copies to and from the host wait: they stand between steps.
#include "runtime/device/queue/device_state.h"

#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "runtime/base/ensure.h"
#include "runtime/device/host_tensor.h"
#include "runtime/device/queue/device_outer_math.h"
#include "runtime/storage/inner_parts.h"

namespace shoal {
namespace {

at::Tensor over(std::span<float> values) { return tensor_over(values, at::kCPU); }

}  // namespace

DeviceState::DeviceState(const FlatLayout& layout, const Config& config, at::Device device, const DeviceMath& math,
                         BeginsWith begins)
    : layout_(layout),
      copy_layout_(layout.of_copies()),
      math_(math),
      flat_math_(math.of_flat(spans_of(layout, &copy_layout_), device)),
      optim_(config.optim),
      inner_state_(inner_state_of(config)),
      host_(layout, config, begins) {
  const auto options = at::TensorOptions(at::kFloat).device(device);
  const auto size = static_cast<std::int64_t>(layout.size);
  const bool has_rounds = config.sync.mode == SyncMode::kDiloco;
  for (std::size_t i = 0; i < host_.buffers().size(); ++i) buffers_.push_back(at::zeros({size}, options));
  if (has_rounds) {
    outer_.emplace(layout, config.sync, std::make_unique<DeviceOuterMath>(*flat_math_, math, device),
                   values_of_weights());
    agreed_ = tensor_over(outer_->agreed(), device);
  }
  if (config.model.precision == Precision::kBf16) {
    const auto copied = static_cast<std::int64_t>(copy_layout_.size);
    copies_ = at::zeros({copied}, options.dtype(at::kBFloat16));
    if (has_rounds) agreed_copies_ = at::zeros({copied}, options.dtype(at::kBFloat16));
  }
  if (begins == BeginsWith::kInitialWeights) push();
}

std::span<float> DeviceState::values_of_weights() const {
  return {buffers_.front().mutable_data_ptr<float>(), layout_.size};
}

void DeviceState::copy_buffers(Copies where) {
  const auto copy = [&](std::span<float> on_host, const at::Tensor& on_device) {
    if (where == Copies::kToDevice) {
      on_device.copy_(over(on_host));
    } else {
      over(on_host).copy_(on_device);
    }
  };
  const auto buffers = host_.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) copy(buffers[i], buffers_[i]);
  if (!outer_) return;
  const auto outer_on_host = host_.outer_buffers();
  const auto outer = outer_->buffers();
  for (std::size_t i = 0; i < outer.size(); ++i) copy(outer_on_host[i], tensor_over(outer[i], agreed_.device()));
}

void DeviceState::push() {
  copy_buffers(Copies::kToDevice);
  if (outer_) outer_->buffers_changed();
  write_copies();
  is_host_behind_ = false;
}

void DeviceState::write_copies() {
  if (copies_.defined()) write_copy(copies_, buffers_.front());
  if (agreed_copies_.defined()) write_copy(agreed_copies_, agreed_);
}

void DeviceState::write_copy(const at::Tensor& copy, const at::Tensor& from) {
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
    tensor_of(copy, copy_layout_.tensors[i]).copy_(tensor_of(from, layout_.tensors[i]));
  }
}

StageState& DeviceState::pulled() {
  if (!std::exchange(is_host_behind_, false)) return host_;
  host_.keep_for_readers();
  copy_buffers(Copies::kToHost);
  return host_;
}

at::Tensor DeviceState::contribute_round(std::uint32_t fragment) {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  const Fragment& carried = outer_->fragment(fragment);
  const auto count = static_cast<std::int64_t>(carried.element_count);
  const auto arrays = static_cast<std::int64_t>(round_arrays(inner_state_));
  at::Tensor values = at::empty({arrays * count}, buffers_.front().options());
  outer_->contribute(fragment, values_of_weights(), {values.mutable_data_ptr<float>(), carried.element_count});
  if (inner_state_ == InnerState::kAverage) {
    pair_averages(carried, values, [](const at::Tensor& own, const at::Tensor& carrying) { carrying.copy_(own); });
  }
  return values;
}

std::uint64_t DeviceState::apply_round(const RoundUpdate& update, const RoundTensors& tensors) {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  const Fragment& carried = outer_->fragment(update.fragment);
  ensure_round_values(update, carried, inner_state_);
  is_host_behind_ = true;
  if (inner_state_ == InnerState::kReset) empty_averages(carried.tensors);
  if (inner_state_ == InnerState::kAverage) {
    pair_averages(carried, tensors.mean, [](const at::Tensor& own, const at::Tensor& mean) { own.copy_(mean); });
  }
  OuterState::RoundValues values;
  if (tensors.mean.defined()) values.mean = {tensors.mean.const_data_ptr<float>(), carried.element_count};
  if (tensors.own.defined()) values.own = {tensors.own.const_data_ptr<float>(), carried.element_count};
  const std::uint64_t digest = outer_->apply(update, values, values_of_weights());
  write_copies();
  return digest;
}

std::vector<std::uint64_t> DeviceState::restart_from_outer() {
  ENSURE(outer_, "rounds are of sync.mode = diloco");
  ensure_begun();
  is_host_behind_ = true;
  if (inner_state_ == InnerState::kReset) empty_averages(layout_.all());
  auto digests = outer_->restart(values_of_weights());
  write_copies();
  return digests;
}

void DeviceState::pair_averages(const Fragment& carried, const at::Tensor& round, const TakePair& take) const {
  auto at = static_cast<std::int64_t>(carried.element_count);
  for (const at::Tensor& average : {buffers_[1], buffers_[2]}) {
    for (const std::size_t index : carried.tensors) {
      const at::Tensor own = tensor_of(average, layout_.tensors[index]);
      take(own, round.narrow(0, at, own.numel()));
      at += own.numel();
    }
  }
}

void DeviceState::empty_averages(const std::vector<std::size_t>& tensors) {
  for (const std::size_t index : tensors) {
    for (const at::Tensor& average : {buffers_[1], buffers_[2]}) tensor_of(average, layout_.tensors[index]).zero_();
  }
  host_.restart_updates(tensors);
}

WeightMap DeviceState::views_of(const at::Tensor& flat, const FlatLayout& layout) {
  WeightMap views;
  if (!flat.defined()) return views;
  for (const FlatTensor& tensor : layout.tensors) {
    views[tensor.spec.name] = tensor_of(flat, tensor).view(tensor.spec.shape);
  }
  return views;
}

at::Tensor DeviceState::tensor_of(const at::Tensor& flat, const FlatTensor& tensor) {
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
    const at::Tensor copy = copies_.defined() ? tensor_of(copies_, copy_layout_.tensors[i]) : at::Tensor();
    const double decay = tensor.spec.decays ? optim_.weight_decay : 0;
    const SgdCoefficients coefficients{static_cast<float>(order.clip_scale),
                                       static_cast<float>(1 - order.learning_rate * decay),
                                       static_cast<float>(order.learning_rate)};
    math_.apply_sgd(coefficients, {tensor_of(buffers_[0], tensor), sums.mean_of(tensor), copy});
  }
}

// A run with rounds digests the outer state alone.
std::uint64_t DeviceState::digest() const {
  ensure_begun();
  if (outer_) return outer_->digest();
  std::vector<at::Tensor> values;
  for (const at::Tensor& buffer : buffers_) values.push_back(flat_math_->block_values(buffer));
  return digest_of_values(values);
}

}  // namespace shoal
