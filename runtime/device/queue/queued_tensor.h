// A tensor on a device, in place of bytes: it may be given away before it is computed.
// It lives where its stage's queue computes; another stage of the process follows its mark, the copier waits for it. A
// stage that wants the memory for its next step has the values leave the device: whoever holds the tensor reads them on
// the host from then on.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/tensor_blob.h"
#include "runtime/device/queue/device_queue.h"

namespace shoal {

class QueuedTensor final : public ResidentTensor {
 public:
  // values: contiguous, behind `mark`. copies: a queue for copies to the host; the copier's thread and that of a stage
  // whose values leave may put copies of two tensors into it at once.
  QueuedTensor(at::Tensor values, std::shared_ptr<const DeviceMark> mark, std::shared_ptr<DeviceQueue> copies);

  [[nodiscard]] std::size_t byte_count() const override { return byte_count_; }
  [[nodiscard]] bool is_ready() const override { return mark_->is_reached(); }
  // Copies once as long as anybody holds the copy.
  [[nodiscard]] TensorBlob to_host() const override;

  // For devices of the same kind alone. Undefined once the values have left the device.
  [[nodiscard]] at::Tensor values() const;
  [[nodiscard]] const DeviceMark& mark() const { return *mark_; }
  // Copies the values to the host, waits for it, and holds nothing of the device any more. Throws what it fails with.
  void leave_device() const;

 private:
  [[nodiscard]] SharedBuffer copied() const;

  std::size_t byte_count_;
  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::shared_ptr<const DeviceMark> mark_;
  std::shared_ptr<DeviceQueue> copies_;
  mutable std::mutex copying_;                         // held while values are copied
  mutable std::weak_ptr<const AlignedBuffer> copied_;  // guarded by it
  mutable SharedBuffer on_host_;                       // likewise; once the values have left the device
  mutable std::mutex mutex_;                           // never held while anybody waits
  mutable at::Tensor values_;                          // guarded by it
};

// Copies values that are dense, behind their mark, to the host; waits for it. Throws what the device fails with.
[[nodiscard]] at::Tensor arrived_on_host(DeviceQueue& copies, const DeviceMark& mark, const at::Tensor& values);

// Float32 or int64.
[[nodiscard]] TensorBlob resident_blob(const at::Tensor& values, std::shared_ptr<const DeviceMark> mark,
                                       std::shared_ptr<DeviceQueue> copies);

// Within a turn. Returns the values of a blob that are on a device of this kind, behind their mark; undefined: it is on
// the host, has left its device, or is on another kind.
[[nodiscard]] at::Tensor values_in_place(DeviceQueue& queue, const TensorBlob& blob);
// Within a turn. Sends a copy to the queue's device, by way of the host, wherever the values are.
[[nodiscard]] at::Tensor sent_to(DeviceQueue& queue, const TensorBlob& blob);
// Returns the bytes of a blob that is on the host, in memory that the device copies from without the host's waiting.
[[nodiscard]] at::Tensor sendable(const DeviceQueue& queue, const TensorBlob& blob);

}  // namespace shoal
