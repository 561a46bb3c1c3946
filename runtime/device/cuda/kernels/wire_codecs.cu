// A warp per block of 256 values: each lane holds eight of them, so that the block's largest magnitude needs no shared
// memory. Decoding: a thread per value.
#include "runtime/device/cuda/kernels/wire_codecs.h"

#include "runtime/device/cuda/kernels/launching.cuh"
#include "runtime/sync/wire/wire_elements.h"

namespace shoal::gpu {
namespace {

constexpr unsigned kPerLane = kWireBlock / kWarp;
constexpr unsigned kBlocksAtOnce = kThreads / kWarp;

// A lane's share of a block: its values lane, lane + 32, ...; beyond the end they are 0.
struct Share {
  float values[kPerLane];
  std::uint32_t largest;  // of the whole block, in every lane
  std::size_t begin, length;
};

__device__ __forceinline__ Share load_share(const float* values, std::size_t count) {
  Share share;
  const unsigned lane = threadIdx.x % kWarp;
  const std::size_t block = static_cast<std::size_t>(blockIdx.x) * kBlocksAtOnce + threadIdx.x / kWarp;
  share.begin = block * kWireBlock;
  share.length = share.begin >= count ? 0 : count - share.begin < kWireBlock ? count - share.begin : kWireBlock;
  share.largest = 0;
  for (unsigned i = 0; i < kPerLane; ++i) {
    const unsigned at = i * kWarp + lane;
    share.values[i] = at < share.length ? values[share.begin + at] : 0.0F;
    const std::uint32_t bits = magnitude_bits(share.values[i]);
    share.largest = bits > share.largest ? bits : share.largest;
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const std::uint32_t other = __shfl_xor_sync(kAllLanes, share.largest, distance);
    share.largest = other > share.largest ? other : share.largest;
  }
  return share;
}

__global__ void encode_int8_kernel(const float* values, std::size_t count, EncodedInt8 into, std::uint32_t* largest) {
  const Share share = load_share(values, count);
  const unsigned lane = threadIdx.x % kWarp;
  const Int8Scale scale = int8_scale(share.largest);
  for (unsigned i = 0; i < kPerLane; ++i) {
    const unsigned at = i * kWarp + lane;
    if (at < share.length) into.codes[share.begin + at] = int8_code(share.values[i], scale.inverse);
  }
  if (lane == 0 && share.length > 0) {
    into.scales[share.begin / kWireBlock] = scale.scale;
    atomicMax(largest, share.largest);
  }
}

// Byte j holds value j and value j + half: in a whole block both are of one lane, four shares apart.
__global__ void encode_e3m0_kernel(const float* values, std::size_t count, EncodedE3m0 into, std::uint32_t* largest) {
  const Share share = load_share(values, count);
  const unsigned lane = threadIdx.x % kWarp;
  const E3m0Scale scale = e3m0_scale(share.largest);
  const std::size_t half = (share.length + 1) / 2;
  const bool is_whole = share.length == kWireBlock;
  for (unsigned i = 0; i < kPerLane / 2; ++i) {
    const unsigned at = i * kWarp + lane;
    if (at >= half) continue;
    const float low = share.values[i];
    float high = share.values[i + kPerLane / 2];
    if (!is_whole) high = half + at < share.length ? values[share.begin + half + at] : 0.0F;
    const bool has_high = half + at < share.length;
    const std::int32_t upper = has_high ? e3m0_code(high, scale.inverse) << 4 : 0;
    into.codes[share.begin / 2 + at] = static_cast<std::uint8_t>(e3m0_code(low, scale.inverse) | upper);
  }
  if (lane == 0 && share.length > 0) {
    into.scales[share.begin / kWireBlock] = scale.scale;
    atomicMax(largest, share.largest);
  }
}

__global__ void encode_bf16_kernel(const float* values, std::size_t count, std::uint16_t* into,
                                   std::uint32_t* largest) {
  std::uint32_t most = 0;
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    const std::uint32_t bits = magnitude_bits(values[i]);
    most = bits > most ? bits : most;
    into[i] = to_bf16(values[i]);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const std::uint32_t other = __shfl_xor_sync(kAllLanes, most, distance);
    most = other > most ? other : most;
  }
  if (threadIdx.x % kWarp == 0) atomicMax(largest, most);
}

__global__ void decode_int8_kernel(EncodedInt8 from, std::size_t count, float* values) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    values[i] = int8_value(from.codes[i], from.scales[i / kWireBlock]);
  }
}

__global__ void decode_e3m0_kernel(EncodedE3m0 from, std::size_t count, float* values) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    const std::size_t begin = i / kWireBlock * kWireBlock;
    const std::size_t length = count - begin < kWireBlock ? count - begin : kWireBlock;
    const std::size_t half = (length + 1) / 2;
    const std::size_t at = i - begin;
    const unsigned byte = from.codes[begin / 2 + (at < half ? at : at - half)];
    const float scale = float_of_bf16(from.scales[i / kWireBlock]);
    values[i] = e3m0_value(at < half ? byte & 15U : byte >> 4U) * scale;
  }
}

__global__ void decode_bf16_kernel(const std::uint16_t* from, std::size_t count, float* values) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) values[i] = float_of_bf16(from[i]);
}

Grid grid_of_blocks(std::size_t count) { return one_block_each(parts_of(parts_of(count, kWireBlock), kBlocksAtOnce)); }

}  // namespace

LaunchError encode_int8(const float* values, std::size_t count, const EncodedInt8& into, std::uint32_t* largest,
                        Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_of_blocks(count), stream, encode_int8_kernel, values, count, into, largest);
}

LaunchError decode_int8(const EncodedInt8& from, std::size_t count, float* values, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, decode_int8_kernel, from, count, values);
}

LaunchError encode_e3m0(const float* values, std::size_t count, const EncodedE3m0& into, std::uint32_t* largest,
                        Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_of_blocks(count), stream, encode_e3m0_kernel, values, count, into, largest);
}

LaunchError decode_e3m0(const EncodedE3m0& from, std::size_t count, float* values, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, decode_e3m0_kernel, from, count, values);
}

LaunchError encode_bf16(const float* values, std::size_t count, std::uint16_t* into, std::uint32_t* largest,
                        Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, encode_bf16_kernel, values, count, into, largest);
}

LaunchError decode_bf16(const std::uint16_t* from, std::size_t count, float* values, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, decode_bf16_kernel, from, count, values);
}

}  // namespace shoal::gpu
