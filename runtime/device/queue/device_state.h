// A stage's weights and averages on a device, beside the state on the host that knows images, digests and rounds.
//
// Steps change the device's copy; whatever else needs the values pulls them first, and pushes what it changed. Images,
// digests and rounds so have one implementation, StageState. Costs host memory for a second copy, and a copy of 12
// bytes a parameter for every digest, until digests are computed on the device.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "model/parts/part.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/queue/device_sums.h"
#include "runtime/device/stage_state.h"

namespace shoal {

class DeviceState {
 public:
  // Within a turn of the device's queue, as all calls. `layout` must outlive this.
  DeviceState(const FlatLayout& layout, const Config& config, at::Device device);

  [[nodiscard]] WeightMap weights() const { return views_of(buffers_.front()); }
  // What all replicas agree on: with rounds the outer parameters, otherwise the weights themselves.
  [[nodiscard]] WeightMap agreed() const { return views_of(agreed_.defined() ? agreed_ : buffers_.front()); }

  void update(const DeviceSums& sums, const UpdateOrder& order);
  // The host's state, with the values of the device.
  [[nodiscard]] StageState& pulled();
  // After the host's state was changed.
  void push();

 private:
  [[nodiscard]] WeightMap views_of(const at::Tensor& flat) const;
  [[nodiscard]] at::Tensor part_of(std::size_t buffer, const FlatTensor& tensor) const;
  void update_adamw(std::size_t index, const at::Tensor& mean, const UpdateOrder& order);

  const FlatLayout& layout_;
  OptimConfig optim_;
  StageState host_;
  std::vector<at::Tensor> buffers_;  // float32 [layout.size]: weights, then averages
  at::Tensor agreed_;                // rounds only
  bool is_host_behind_ = false;
};

}  // namespace shoal
