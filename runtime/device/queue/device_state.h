// A stage's weights, averages and outer parameters on a device, beside the state on the host that knows images.
//
// Steps and rounds change the device's copy; an image pulls the values first, and pushes what it brought. Images so
// have one implementation, StageState, at the cost of host memory for a second copy, and rounds one, OuterState.
// Digests are made of the values where they lie. With model.precision = bf16 products read copies of the weights that
// updates write.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/parts/part.h"
#include "runtime/device/flat_layout.h"
#include "runtime/device/outer/outer_state.h"
#include "runtime/device/queue/device_sums.h"
#include "runtime/device/stage_state.h"

namespace shoal {

class DeviceState {
 public:
  // Within a turn of the device's queue, as all calls but ensure_begun(). `layout` and `math` must outlive this.
  DeviceState(const FlatLayout& layout, const Config& config, at::Device device, const DeviceMath& math,
              BeginsWith begins = BeginsWith::kInitialWeights);

  [[nodiscard]] WeightMap weights() const { return views_of(buffers_.front(), layout_); }
  // What all replicas agree on: with rounds the outer parameters, otherwise the weights themselves.
  [[nodiscard]] WeightMap agreed() const { return views_of(agreed_.defined() ? agreed_ : buffers_.front(), layout_); }

  // The same in bf16; empty with model.precision = fp32.
  [[nodiscard]] WeightMap copies() const { return views_of(copies_, copy_layout_); }
  [[nodiscard]] WeightMap agreed_copies() const {
    return views_of(agreed_copies_.defined() ? agreed_copies_ : copies_, copy_layout_);
  }

  // Ensures that there are values.
  void ensure_begun() const { host_.ensure_begun(); }
  void update(const DeviceSums& sums, const UpdateOrder& order);
  // StageState::digest() of the device's values. Waits.
  [[nodiscard]] std::uint64_t digest() const;
  // The host's state, with the values of the device.
  [[nodiscard]] StageState& pulled();
  // After the host's state was changed.
  void push();

  // sync.mode = diloco only (ensured): what the executor's methods of these names say.
  // float32 [n] or [3n].
  [[nodiscard]] at::Tensor contribute_round(std::uint32_t fragment);
  // The update's tensors on the device; undefined where it has none. Waits.
  struct RoundTensors {
    at::Tensor mean, own;
  };
  [[nodiscard]] std::uint64_t apply_round(const RoundUpdate& update, const RoundTensors& tensors);
  std::vector<std::uint64_t> restart_from_outer();

 private:
  [[nodiscard]] static WeightMap views_of(const at::Tensor& flat, const FlatLayout& layout);
  [[nodiscard]] static at::Tensor tensor_of(const at::Tensor& flat, const FlatTensor& tensor);
  [[nodiscard]] std::span<float> values_of_weights() const;
  enum class Copies { kToDevice, kToHost };
  // Copies all buffers that both have. Waits.
  void copy_buffers(Copies where);
  // Gives each average of a fragment's tensors with its place behind the delta in a round's values, float32 [3n].
  using TakePair = std::function<void(const at::Tensor& own, const at::Tensor& in_round)>;
  void pair_averages(const Fragment& carried, const at::Tensor& round, const TakePair& take) const;
  void empty_averages(const std::vector<std::size_t>& tensors);
  void write_copies();
  void write_copy(const at::Tensor& copy, const at::Tensor& from);

  void update_by_adamw(const DeviceSums& sums, const UpdateOrder& order);
  void update_by_sgd(const DeviceSums& sums, const UpdateOrder& order);

  const FlatLayout& layout_;
  FlatLayout copy_layout_;
  const DeviceMath& math_;
  std::unique_ptr<FlatMath> flat_math_;
  OptimConfig optim_;
  InnerState inner_state_;
  StageState host_;
  std::vector<at::Tensor> buffers_;  // float32 [layout.size]: weights, then averages
  std::optional<OuterState> outer_;  // rounds only
  at::Tensor agreed_;                // its agreed parameters
  at::Tensor copies_;                // bf16 [copy_layout.size] of the weights, where products are computed in it
  at::Tensor agreed_copies_;         // rounds only
  bool is_host_behind_ = false;
};

}  // namespace shoal
