// The copy goes through host memory that the device reaches, then into a buffer of the wire's alignment.
#include "runtime/device/queue/queued_tensor.h"

#include <cstring>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "runtime/base/ensure.h"
#include "runtime/device/host_tensor.h"

namespace shoal {

namespace {

DType wire_type_of(const at::Tensor& values) {
  ENSURE(values.scalar_type() == at::kFloat || values.scalar_type() == at::kLong, "a type that has a wire form");
  return values.scalar_type() == at::kFloat ? DType::kFloat32 : DType::kInt64;
}

}  // namespace

QueuedTensor::QueuedTensor(at::Tensor values, std::shared_ptr<const DeviceMark> mark,
                           std::shared_ptr<DeviceQueue> copies)
    : byte_count_(values.nbytes()),
      dtype_(wire_type_of(values)),
      shape_(values.sizes().vec()),
      mark_(std::move(mark)),
      copies_(std::move(copies)),
      values_(std::move(values)) {
  ENSURE(values_.is_contiguous(), "a tensor that is given away is dense");
}

at::Tensor QueuedTensor::values() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

TensorBlob QueuedTensor::to_host() const {
  const std::lock_guard one_at_a_time(copying_);
  return {dtype_, shape_, copied()};
}

void QueuedTensor::leave_device() const {
  const std::lock_guard one_at_a_time(copying_);
  on_host_ = copied();
  const std::lock_guard lock(mutex_);
  values_.reset();
}

// One copy at a time: no other thread holds the device's memory for its copy when this one returns.
SharedBuffer QueuedTensor::copied() const {
  if (auto there = copied_.lock()) return there;
  SharedBuffer bytes = copied_bytes(arrived_on_host(*copies_, *mark_, values()));
  copied_ = bytes;
  return bytes;
}

at::Tensor arrived_on_host(DeviceQueue& copies, const DeviceMark& mark, const at::Tensor& values) {
  const at::NoGradGuard no_graph;
  const at::Tensor arrived = copies.host_memory(values.sizes(), values.scalar_type());
  const auto turn = copies.enter();
  copies.follow(mark);
  arrived.copy_(values, true);
  copies.mark()->wait();
  return arrived;
}

TensorBlob resident_blob(const at::Tensor& values, std::shared_ptr<const DeviceMark> mark,
                         std::shared_ptr<DeviceQueue> copies) {
  TensorBlob blob;
  blob.dtype = wire_type_of(values);
  blob.shape = values.sizes().vec();
  blob.resident = std::make_shared<QueuedTensor>(values, std::move(mark), std::move(copies));
  return blob;
}

at::Tensor values_in_place(DeviceQueue& queue, const TensorBlob& blob) {
  const auto* queued = dynamic_cast<const QueuedTensor*>(blob.resident.get());
  const at::Tensor values = queued != nullptr ? queued->values() : at::Tensor();
  if (!values.defined()) return values;
  queue.follow(queued->mark());
  return values.to(queue.device());
}

at::Tensor sent_to(DeviceQueue& queue, const TensorBlob& blob) {
  return sendable(queue, on_host(blob)).to(queue.device(), true);
}

at::Tensor sendable(const DeviceQueue& queue, const TensorBlob& blob) {
  const at::Tensor from_host = borrow(blob);
  at::Tensor sent = queue.host_memory(from_host.sizes(), from_host.scalar_type());
  if (blob.byte_count() > 0) std::memcpy(sent.mutable_data_ptr(), from_host.const_data_ptr(), blob.byte_count());
  return sent;
}

}  // namespace shoal
