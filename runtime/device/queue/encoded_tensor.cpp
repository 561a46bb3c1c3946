// The encoded bytes are copied with the magnitude that says whether they mean anything; the values themselves only
// then.
#include "runtime/device/queue/encoded_tensor.h"

#include <cstring>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/device/queue/queued_tensor.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {
namespace {

std::shared_ptr<AlignedBuffer> bytes_of(const at::Tensor& host) {
  auto bytes = std::make_shared<AlignedBuffer>(host.nbytes());
  if (bytes->size() > 0) std::memcpy(bytes->data(), host.const_data_ptr(), bytes->size());
  return bytes;
}

}  // namespace

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
  const auto arrived = [this](const at::Tensor& values) { return arrived_on_host(*way_.copies, *way_.mark, values); };
  const auto first = [this](std::size_t count) { return values_.bytes.narrow(0, 0, static_cast<std::int64_t>(count)); };
  const at::Tensor largest = arrived(values_.largest);
  if (is_carried(static_cast<std::uint32_t>(*largest.const_data_ptr<std::int32_t>()))) {
    return encoded_elsewhere(values_.shape, bytes_of(arrived(first(byte_count()))));
  }
  return {DType::kFloat32, shape_, bytes_of(arrived(first(values_.shape.count * sizeof(float))))};
}

}  // namespace shoal
