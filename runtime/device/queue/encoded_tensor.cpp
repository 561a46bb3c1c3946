// Copies what travels with its header, which says whether it means anything, and the values themselves only if not.
#include "runtime/device/queue/encoded_tensor.h"

#include <cstring>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/device/host_tensor.h"
#include "runtime/device/queue/queued_tensor.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {
EncodedTensor::EncodedTensor(DeviceMath::EncodedValues values, std::vector<std::int64_t> shape, Way way)
    : values_(std::move(values)), shape_(std::move(shape)), way_(std::move(way)) {
  ENSURE(values_.bytes.nbytes() >= DeviceMath::room_of(values_.shape), "room for the values as they are");
}

TensorBlob EncodedTensor::to_host() const {
  const std::lock_guard one_at_a_time(copying_);
  if (auto there = copied_.lock()) {
    return {dtype_, dtype_ == DType::kUint8 ? std::vector{static_cast<std::int64_t>(there->size())} : shape_, there};
  }
  TensorBlob copy = copied();
  dtype_ = copy.dtype;
  copied_ = copy.bytes;
  return copy;
}

TensorBlob EncodedTensor::copied() const {
  const auto first = [this](std::size_t count) {
    return arrived_on_host(*way_.copies, *way_.mark, values_.bytes.narrow(0, 0, static_cast<std::int64_t>(count)));
  };
  const at::Tensor encoded = first(byte_count());
  std::uint32_t largest = 0;
  std::memcpy(&largest, encoded.const_data_ptr(), sizeof(largest));
  if (is_carried(largest)) return encoded_elsewhere(values_.shape, copied_bytes(encoded));
  const at::Tensor plain = first(kWireHeaderBytes + values_.shape.count * sizeof(float));
  return {DType::kFloat32, shape_, copied_bytes(plain, kWireHeaderBytes)};
}

}  // namespace shoal
