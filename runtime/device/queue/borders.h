// Gives a stage's neighbours, and takes from them, activations and their gradients, as they are or in fewer bytes
// (`pipeline.activations`), encoded and decoded by the device.
//
// Each border rounds, also one between stages of a process: the bits of a run do not depend on where its stages are. An
// encoded tensor that leaves the process is copied as such. What the processor's stages do is
// runtime/device/decorators/encoding_stage_executor.h. Called within a turn of the queue.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"
#include "runtime/device/queue/device_queue.h"
#include "runtime/device/queue/math/device_math.h"
#include "runtime/device/queue/queued_reads.h"

namespace shoal {

class Borders {
 public:
  struct Device {
    std::shared_ptr<DeviceQueue> queue;
    std::shared_ptr<DeviceQueue> copies;  // to the host
    std::shared_ptr<const DeviceMath> math;
  };
  Borders(const Config& config, Device device);

  // [B,T,C] of every activation of the run.
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }
  [[nodiscard]] bool are_encoded() const { return format_ != WireFormat::kFp32; }

  // values: float32 of that shape. Resident; the values may change when the queue is past it, where they are encoded.
  [[nodiscard]] TensorBlob sent(const at::Tensor& values) const;
  // Float32 of that shape where it came encoded, else as it came; what the device reads is noted. Ensures that bytes of
  // a peer are an encoded vector of the run's format and shape.
  [[nodiscard]] at::Tensor received(const TensorBlob& blob, QueuedReads& reads) const;

 private:
  [[nodiscard]] at::Tensor decoded(const DeviceMath::EncodedValues& values) const;

  WireFormat format_;
  std::vector<std::int64_t> shape_;
  WireShape encoded_;
  Device device_;
};

// Within a turn. The values on the queue's device, read in place where they are on one of its kind, and noted then.
[[nodiscard]] at::Tensor on_device_of(DeviceQueue& queue, const TensorBlob& blob, QueuedReads& reads);

}  // namespace shoal
