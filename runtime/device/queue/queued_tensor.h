// A tensor on a device, in place of bytes: it may be given away before it is computed.
// It lives where its stage's queue computes; another stage of the process follows its mark, the copier waits for it.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "messages/tensor_blob.h"
#include "runtime/device/queue/device_queue.h"

namespace shoal {

class QueuedTensor final : public ResidentTensor {
 public:
  // values: contiguous, behind `mark`. copies: a queue for copies to the host, used by one thread at a time.
  QueuedTensor(at::Tensor values, std::shared_ptr<const DeviceMark> mark, std::shared_ptr<DeviceQueue> copies);

  [[nodiscard]] std::size_t byte_count() const override { return values_.nbytes(); }
  [[nodiscard]] bool is_ready() const override { return mark_->is_reached(); }
  [[nodiscard]] SharedBuffer to_host() const override;

  // For devices of the same kind alone.
  [[nodiscard]] const at::Tensor& values() const { return values_; }
  [[nodiscard]] const DeviceMark& mark() const { return *mark_; }

 private:
  at::Tensor values_;
  std::shared_ptr<const DeviceMark> mark_;
  std::shared_ptr<DeviceQueue> copies_;
};

// Float32 or int64.
[[nodiscard]] TensorBlob resident_blob(const at::Tensor& values, std::shared_ptr<const DeviceMark> mark,
                                       std::shared_ptr<DeviceQueue> copies);

}  // namespace shoal
