// QueuedReads keeps what queued work reads and others own until the device is past it: tensors of other stages, and
// memory of the host that figures are copied to.
//
// Tensors that calls read are noted, and held behind the mark of the calls' ending. A half-done backward may keep them
// longer: gradients of weights that are left for later are made of them.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/tensor_blob.h"
#include "runtime/device/queue/device_queue.h"

namespace shoal {

class QueuedReads {
 public:
  using Residents = std::vector<std::shared_ptr<const ResidentTensor>>;

  // The device reads a tensor of another stage, or has been given these to read again.
  void note(const TensorBlob& blob);
  void note(const Residents& tensors);
  // Those noted since the last ending.
  [[nodiscard]] const Residents& noted() const { return noted_; }
  // Holds them until the mark is reached, and lets go what is behind marks that are.
  void end(const std::shared_ptr<const DeviceMark>& mark);
  // The device is past them.
  void forget_noted() { noted_.clear(); }
  // The device failed: its marks are never reached.
  void forget_held() { held_.clear(); }

  // A copy on the host that is there when the queue is past it.
  [[nodiscard]] at::Tensor on_its_way_to_host(const DeviceQueue& queue, const at::Tensor& values);

 private:
  Residents noted_;
  std::deque<std::pair<std::shared_ptr<const DeviceMark>, Residents>> held_;
  std::vector<at::Tensor> lent_;  // host memory of figures, until nobody else has it
};

}  // namespace shoal
