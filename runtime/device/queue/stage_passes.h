// The passes of a stage over its layers, recorded (recorded_pass.h). The embedding stays outside: the order of its
// gradient is made on the host, of each microbatch's tokens.
//
// A slot is the memory of one microbatch in flight, from its forward until its gradients are accumulated; there are as
// many as were in flight at once. Not for dropout, whose masks are numbered, nor for recomputation.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/partition.h"
#include "model/transformer.h"
#include "runtime/base/config.h"
#include "runtime/device/queue/math/device_math.h"
#include "runtime/device/queue/recorded_pass.h"

namespace shoal {

class StagePasses {
 public:
  struct Device {
    DeviceQueue& queue;
    const DeviceMath& math;
    WeightMap weights;
    DeviceSupport support;
  };
  [[nodiscard]] static bool are_fixed(const Config& config) {
    return config.model.dropout <= 0 && !config.pipeline.recompute;
  }

  // The device's queue records (ENSURE), and outlives this, as its math does.
  StagePasses(const ModelConfig& model, const StagePlan& plan, Device device);

  class Slot;
  // Within a turn, as all calls. The slot comes back when nobody holds it.
  [[nodiscard]] std::shared_ptr<Slot> take();

  // input: tokens where the stage has the embedding, else the activation on the device. The result's memory is the
  // slot's.
  [[nodiscard]] at::Tensor forward(Slot& slot, const at::Tensor& input) const;

  struct Differentiated {
    at::Tensor loss_sum;                // last stage alone
    at::Tensor input_gradient;          // none with the embedding
    std::vector<at::Tensor> gradients;  // of every parameter, by its position in the plan
  };
  // The slot's memory, too.
  [[nodiscard]] Differentiated backward(Slot& slot, const at::Tensor& output_gradient) const;
  [[nodiscard]] Differentiated forward_backward(Slot& slot, const at::Tensor& input, const at::Tensor& targets) const;

 private:
  [[nodiscard]] at::Tensor entered(Slot& slot, const at::Tensor& input) const;
  // Gradients of the layers, and of what is before them.
  [[nodiscard]] Differentiated with_embedding(Slot& slot, std::span<const at::Tensor> results) const;
  // dx, then the gradients of the layers' parameters.
  [[nodiscard]] std::vector<at::Tensor> differentiated(const at::Tensor& gradient, Tape tape) const;

  Device device_;
  std::size_t parameter_count_;
  std::vector<std::size_t> of_layers_, of_embedding_;  // positions of parameters in the plan
  std::unique_ptr<Transformer> embedding_;             // none where the stage has none
  Transformer layers_;
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace shoal
