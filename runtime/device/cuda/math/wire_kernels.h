// Formats of the wire by kernels, on a stage's stream: the processor's bytes and values.
// Called within a turn of the device's queue; nothing here waits.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"
#include "runtime/device/queue/math/device_math.h"

namespace shoal {

// As DeviceMath has them. Ensures that the format is one in which values are encoded.
void encode_by_kernels(const at::Tensor& values, const DeviceMath::EncodedValues& into, gpu::Stream stream);
void decode_by_kernels(const DeviceMath::EncodedValues& from, const at::Tensor& values, gpu::Stream stream);

}  // namespace shoal
