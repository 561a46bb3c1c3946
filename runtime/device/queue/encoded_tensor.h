// A tensor on a device in a format of the wire (runtime/sync/wire/wire_codec.h): encoded where it was computed, and
// copied to the host in as few bytes. Values that no format carries come to the host as they are, which the device
// knows first.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "messages/tensor_blob.h"
#include "runtime/device/queue/device_queue.h"
#include "runtime/device/queue/math/device_math.h"

namespace shoal {

class EncodedTensor final : public ResidentTensor {
 public:
  struct Way {
    std::shared_ptr<const DeviceMark> mark;  // behind the encoding
    std::shared_ptr<DeviceQueue> copies;     // as QueuedTensor has them
  };
  // shape: of the values, as many as are encoded.
  EncodedTensor(DeviceMath::EncodedValues values, std::vector<std::int64_t> shape, Way way);

  // As encoded, which values as they are exceed.
  [[nodiscard]] std::size_t byte_count() const override { return encoded_bytes(values_.shape); }
  [[nodiscard]] bool is_ready() const override { return way_.mark->is_reached(); }
  // Uint8 [byte_count()], or float32 of the values' shape. Copies once as long as anybody holds the copy.
  [[nodiscard]] TensorBlob to_host() const override;

  // For devices of the same kind alone, behind the mark.
  [[nodiscard]] const DeviceMath::EncodedValues& values() const { return values_; }
  [[nodiscard]] const DeviceMark& mark() const { return *way_.mark; }

 private:
  [[nodiscard]] TensorBlob copied() const;

  DeviceMath::EncodedValues values_;
  std::vector<std::int64_t> shape_;
  Way way_;
  mutable std::mutex copying_;
  mutable DType dtype_ = DType::kUint8;                // of the copy; guarded by it
  mutable std::weak_ptr<const AlignedBuffer> copied_;  // likewise
};

}  // namespace shoal
