// Encodes into memory that has room for the values as they are: only the device knows whether a format carries them.
#include "runtime/device/queue/borders.h"

#include <utility>

#include <ATen/ops/empty.h>

#include "runtime/base/ensure.h"
#include "runtime/device/microbatch_input.h"
#include "runtime/device/queue/encoded_tensor.h"
#include "runtime/device/queue/queued_tensor.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {

Borders::Borders(const Config& config, Device device)
    : format_(config.pipeline.activations),
      shape_(border_shape(config)),
      encoded_{format_, 1},
      device_(std::move(device)) {
  for (const std::int64_t extent : shape_) encoded_.count *= static_cast<std::uint64_t>(extent);
}

TensorBlob Borders::sent(const at::Tensor& values) const {
  const at::Tensor dense = values.contiguous();
  if (!are_encoded()) return resident_blob(dense, device_.queue->mark(), device_.copies);
  ENSURE(dense.sizes() == at::IntArrayRef(shape_), "all activations of a run have one shape");
  const auto room = static_cast<std::int64_t>(DeviceMath::room_of(encoded_));
  DeviceMath::EncodedValues into{encoded_, at::empty({room}, dense.options().dtype(at::kByte))};
  device_.math->encode(dense, into);
  TensorBlob blob{DType::kUint8, {static_cast<std::int64_t>(encoded_bytes(encoded_))}, nullptr};
  blob.resident = std::make_shared<EncodedTensor>(std::move(into), shape_,
                                                  EncodedTensor::Way{device_.queue->mark(), device_.copies});
  return blob;
}

at::Tensor Borders::received(const TensorBlob& blob, QueuedReads& reads) const {
  if (!are_encoded() || blob.dtype != DType::kUint8) return on_device_of(*device_.queue, blob, reads);
  if (const auto* encoded = dynamic_cast<const EncodedTensor*>(blob.resident.get())) {
    reads.note(blob);
    device_.queue->follow(encoded->mark());
    const DeviceMath::EncodedValues& there = encoded->values();
    return decoded({there.shape, there.bytes.to(device_.queue->device())});
  }
  const TensorBlob host = on_host(blob);
  if (host.dtype != DType::kUint8) return on_device_of(*device_.queue, host, reads);
  const Status checked = check_encoded(host, encoded_);
  ENSURE(checked.ok(), checked.failure().message);
  at::Tensor sent = sendable(*device_.queue, host);
  sent.narrow(0, 0, kWireHeaderBytes).zero_();
  return decoded({encoded_, sent.to(device_.queue->device(), true)});
}

at::Tensor Borders::decoded(const DeviceMath::EncodedValues& values) const {
  ENSURE(values.shape == encoded_, "all borders of a run have one form");
  const at::Tensor plain = at::empty(shape_, values.bytes.options().dtype(at::kFloat));
  device_.math->decode(values, plain);
  return plain;
}

at::Tensor on_device_of(DeviceQueue& queue, const TensorBlob& blob, QueuedReads& reads) {
  const at::Tensor values = values_in_place(queue, blob);
  if (!values.defined()) return sent_to(queue, blob);
  reads.note(blob);
  return values;
}

}  // namespace shoal
