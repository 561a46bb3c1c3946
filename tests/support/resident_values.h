// Values that a test says are on a device: nobody but the test's device reads them there, and they are ready when the
// test says so.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <utility>

#include "messages/tensor_blob.h"

namespace shoal {

class ResidentValues final : public ResidentTensor {
 public:
  explicit ResidentValues(TensorBlob values) : values_(std::move(values)) {}

  [[nodiscard]] std::size_t byte_count() const override { return values_.byte_count(); }
  [[nodiscard]] bool is_ready() const override { return is_ready_; }
  // Whoever copies waits until they are ready.
  [[nodiscard]] TensorBlob to_host() const override {
    if (!is_ready_) throw std::logic_error("values were copied before they were ready");
    return values_;
  }
  void become_ready() { is_ready_ = true; }
  // For the device alone: its queue is in order, so whatever reads them there comes after they are computed.
  [[nodiscard]] const TensorBlob& on_device() const { return values_; }

 private:
  TensorBlob values_;
  std::atomic<bool> is_ready_{false};
};

// Moves a tensor to the device. Not ready.
[[nodiscard]] inline std::shared_ptr<ResidentValues> move_to_device(TensorBlob& tensor) {
  auto values = std::make_shared<ResidentValues>(tensor);
  tensor.bytes = nullptr;
  tensor.resident = values;
  return values;
}

// Returns a tensor of either form as one of the host, as its device reads it.
[[nodiscard]] inline TensorBlob seen_on_device(const TensorBlob& tensor) {
  const auto* values = dynamic_cast<const ResidentValues*>(tensor.resident.get());
  return values != nullptr ? values->on_device() : tensor;
}

}  // namespace shoal
