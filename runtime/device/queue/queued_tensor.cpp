// The copy goes through host memory that the device reaches, then into a buffer of the wire's alignment.
#include "runtime/device/queue/queued_tensor.h"

#include <cstring>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "runtime/base/ensure.h"

namespace shoal {

QueuedTensor::QueuedTensor(at::Tensor values, std::shared_ptr<const DeviceMark> mark,
                           std::shared_ptr<DeviceQueue> copies)
    : values_(std::move(values)), mark_(std::move(mark)), copies_(std::move(copies)) {
  ENSURE(values_.is_contiguous(), "a tensor that is given away is dense");
}

SharedBuffer QueuedTensor::to_host() const {
  const at::NoGradGuard no_graph;
  const at::Tensor arrived = copies_->host_memory(values_.sizes(), values_.scalar_type());
  {
    const auto turn = copies_->enter();
    copies_->follow(*mark_);
    arrived.copy_(values_, true);
    copies_->mark()->wait();
  }
  auto bytes = std::make_shared<AlignedBuffer>(values_.nbytes());
  if (bytes->size() > 0) std::memcpy(bytes->data(), arrived.const_data_ptr(), bytes->size());
  return bytes;
}

TensorBlob resident_blob(const at::Tensor& values, std::shared_ptr<const DeviceMark> mark,
                         std::shared_ptr<DeviceQueue> copies) {
  ENSURE(values.scalar_type() == at::kFloat || values.scalar_type() == at::kLong, "a type that has a wire form");
  TensorBlob blob;
  blob.dtype = values.scalar_type() == at::kFloat ? DType::kFloat32 : DType::kInt64;
  blob.shape = values.sizes().vec();
  blob.resident = std::make_shared<QueuedTensor>(values, std::move(mark), std::move(copies));
  return blob;
}

}  // namespace shoal
