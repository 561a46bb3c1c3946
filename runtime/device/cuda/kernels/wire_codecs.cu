// A warp per block of 256 values, one after the other: lane l holds values 4 l .. 4 l + 3 of each half, so that it
// loads 16 bytes and stores 4, and the block's largest magnitude needs no shared memory. The largest of all blocks is
// one atomic per thread block: one per warp took longer than the rest. Decoding: a thread per four values. Arrays that
// do not lie so, and the last part of a block, are done value by value.
#include "runtime/device/cuda/kernels/wire_codecs.h"

#include "runtime/device/cuda/kernels/launching.cuh"
#include "runtime/sync/wire/wire_elements.h"

namespace shoal::gpu {
namespace {

constexpr unsigned kPerLane = kWireBlock / kWarp;
constexpr unsigned kBlocksAtOnce = kThreads / kWarp;
constexpr unsigned kHalf = kWireBlock / 2;
constexpr std::size_t kEncodersMost = 2048;  // thread blocks: each ends with an atomic

// A block of values, and a lane's share of it: value i is at place_of(i); beyond the end they are 0.
struct Share {
  float values[kPerLane];
  std::size_t begin, length;
};

__device__ __forceinline__ unsigned place_of(unsigned i) { return i / 4 * kHalf + threadIdx.x % kWarp * 4 + i % 4; }

__device__ __forceinline__ Share load_share(const float* values, std::size_t count, std::size_t block, bool is_packed) {
  Share share;
  share.begin = block * kWireBlock;
  share.length = share.begin >= count ? 0 : count - share.begin < kWireBlock ? count - share.begin : kWireBlock;
  if (is_packed && share.length == kWireBlock) {
    const Pack<float> low = load_pack(values + share.begin + place_of(0));
    const Pack<float> high = load_pack(values + share.begin + place_of(4));
    for (unsigned i = 0; i < 4; ++i) share.values[i] = low.at[i], share.values[i + 4] = high.at[i];
    return share;
  }
  for (unsigned i = 0; i < kPerLane; ++i) {
    share.values[i] = place_of(i) < share.length ? values[share.begin + place_of(i)] : 0.0F;
  }
  return share;
}

__device__ __forceinline__ std::uint32_t largest_over_warp(std::uint32_t largest) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const std::uint32_t other = __shfl_xor_sync(kAllLanes, largest, distance);
    largest = other > largest ? other : largest;
  }
  return largest;
}

__device__ __forceinline__ std::uint32_t largest_of(const Share& share) {
  std::uint32_t largest = 0;
  for (unsigned i = 0; i < kPerLane; ++i) {
    const std::uint32_t bits = magnitude_bits(share.values[i]);
    largest = bits > largest ? bits : largest;
  }
  return largest_over_warp(largest);
}

// All threads of the block call it, each warp with its own.
__device__ __forceinline__ void raise(std::uint32_t* largest, std::uint32_t of_warp) {
  __shared__ std::uint32_t warps[kBlocksAtOnce];
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = of_warp;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t most = 0;
  for (unsigned i = 0; i < kBlocksAtOnce; ++i) most = warps[i] > most ? warps[i] : most;
  atomicMax(largest, most);
}

// Calls encode(share, its largest) for the warp's blocks; the next one is loaded while one is encoded.
template <class Encode>
__device__ __forceinline__ void for_each_share(const float* values, std::size_t count, bool is_packed,
                                               std::uint32_t* largest, const Encode& encode) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kBlocksAtOnce;
  std::size_t block = static_cast<std::size_t>(blockIdx.x) * kBlocksAtOnce + threadIdx.x / kWarp;
  std::uint32_t most = 0;
  Share next = load_share(values, count, block, is_packed);
  while (next.length > 0) {
    const Share share = next;
    block += step;
    next = load_share(values, count, block, is_packed);
    const std::uint32_t of_block = largest_of(share);
    most = of_block > most ? of_block : most;
    encode(share, of_block);
  }
  raise(largest, most);
}

__device__ __forceinline__ std::uint32_t four_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                                    std::uint32_t d) {
  return a | b << 8U | c << 16U | d << 24U;
}

__global__ void encode_int8_kernel(const float* values, std::size_t count, bool is_packed, EncodedInt8 into,
                                   std::uint32_t* largest) {
  for_each_share(values, count, is_packed, largest, [into, is_packed](const Share& share, std::uint32_t most) {
    const Int8Scale scale = int8_scale(most);
    std::uint8_t codes[kPerLane];
    for (unsigned i = 0; i < kPerLane; ++i) codes[i] = int8_code(share.values[i], scale.inverse);
    std::uint8_t* to = into.codes + share.begin;
    if (is_packed && share.length == kWireBlock) {
      for (unsigned i = 0; i < kPerLane; i += 4) {
        const std::uint32_t four = four_bytes(codes[i], codes[i + 1], codes[i + 2], codes[i + 3]);
        *reinterpret_cast<std::uint32_t*>(to + place_of(i)) = four;
      }
    } else {
      for (unsigned i = 0; i < kPerLane; ++i) {
        if (place_of(i) < share.length) to[place_of(i)] = codes[i];
      }
    }
    if (threadIdx.x % kWarp == 0) into.scales[share.begin / kWireBlock] = scale.scale;
  });
}

// Byte j holds value j and value j + half: in a whole block both are of one lane, four values apart.
__global__ void encode_e3m0_kernel(const float* values, std::size_t count, bool is_packed, EncodedE3m0 into,
                                   std::uint32_t* largest) {
  for_each_share(values, count, is_packed, largest, [values, is_packed, into](const Share& share, std::uint32_t most) {
    const E3m0Scale scale = e3m0_scale(most);
    const std::size_t half = (share.length + 1) / 2;
    const bool is_whole = share.length == kWireBlock;
    std::uint8_t* to = into.codes + share.begin / 2;
    std::uint32_t bytes[4];
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned at = place_of(i);
      float high = share.values[i + 4];
      if (!is_whole) high = half + at < share.length ? values[share.begin + half + at] : 0.0F;
      const std::int32_t upper = half + at < share.length ? e3m0_code(high, scale.inverse) << 4 : 0;
      bytes[i] = static_cast<std::uint32_t>(e3m0_code(share.values[i], scale.inverse) | upper);
    }
    if (is_packed && is_whole) {
      *reinterpret_cast<std::uint32_t*>(to + place_of(0)) = four_bytes(bytes[0], bytes[1], bytes[2], bytes[3]);
    } else {
      for (unsigned i = 0; i < 4; ++i) {
        if (place_of(i) < half) to[place_of(i)] = static_cast<std::uint8_t>(bytes[i]);
      }
    }
    if (threadIdx.x % kWarp == 0) into.scales[share.begin / kWireBlock] = scale.scale;
  });
}

using Eight = Pack<std::uint16_t>;

// eights: groups of eight values that are loaded and stored at once; the rest is done value by value.
__global__ void encode_bf16_kernel(const float* values, std::size_t count, std::size_t eights, std::uint16_t* into,
                                   std::uint32_t* largest) {
  std::uint32_t most = 0;
  const auto encoded = [&most](float value) {
    const std::uint32_t bits = magnitude_bits(value);
    most = bits > most ? bits : most;
    return to_bf16(value);
  };
  for (std::size_t e = first_element(); e < eights; e += all_threads()) {
    const Pack<float> low = load_pack(values + 8 * e);
    const Pack<float> high = load_pack(values + 8 * e + 4);
    Eight codes;
    for (unsigned k = 0; k < 4; ++k) codes.at[k] = encoded(low.at[k]), codes.at[k + 4] = encoded(high.at[k]);
    store_pack(into + 8 * e, codes);
  }
  for (std::size_t i = 8 * eights + first_element(); i < count; i += all_threads()) into[i] = encoded(values[i]);
  raise(largest, largest_over_warp(most));
}

constexpr unsigned kFoursAtOnce = 4;  // loads that a decoding thread has under way

// Calls decode(4 i, the four bytes there) for four-byte groups i of a thread, kFoursAtOnce loads before their use.
template <class Decode>
__device__ __forceinline__ void for_each_four(const std::uint8_t* codes, std::size_t fours, const Decode& decode) {
  for (std::size_t f = first_element(); f < fours; f += kFoursAtOnce * all_threads()) {
    std::uint32_t loaded[kFoursAtOnce];
    for (unsigned k = 0; k < kFoursAtOnce; ++k) {
      const std::size_t at = f + k * all_threads();
      loaded[k] = reinterpret_cast<const std::uint32_t*>(codes)[at < fours ? at : fours - 1];
    }
    for (unsigned k = 0; k < kFoursAtOnce; ++k) {
      const std::size_t at = f + k * all_threads();
      if (at < fours) decode(4 * at, loaded[k]);
    }
  }
}

__global__ void decode_int8_kernel(EncodedInt8 from, std::size_t count, std::size_t fours, float* values) {
  for_each_four(from.codes, fours, [from, values](std::size_t i, std::uint32_t codes) {
    const float scale = from.scales[i / kWireBlock];
    Pack<float> decoded;
    for (unsigned k = 0; k < 4; ++k) decoded.at[k] = int8_value(static_cast<std::uint8_t>(codes >> 8U * k), scale);
    store_pack(values + i, decoded);
  });
  for (std::size_t i = 4 * fours + first_element(); i < count; i += all_threads()) {
    values[i] = int8_value(from.codes[i], from.scales[i / kWireBlock]);
  }
}

// fours: bytes of whole blocks, by four. Of such a block's byte j the lower half is value j, the upper one value j +
// 128.
__global__ void decode_e3m0_kernel(EncodedE3m0 from, std::size_t count, std::size_t fours, float* values) {
  for_each_four(from.codes, fours, [from, values](std::size_t byte, std::uint32_t codes) {
    const float scale = float_of_bf16(from.scales[byte / kHalf]);
    Pack<float> low, high;
    for (unsigned k = 0; k < 4; ++k) {
      low.at[k] = e3m0_value(codes >> 8U * k & 15U) * scale;
      high.at[k] = e3m0_value(codes >> (8U * k + 4U) & 15U) * scale;
    }
    float* to = values + byte / kHalf * kWireBlock + byte % kHalf;
    store_pack(to, low);
    store_pack(to + kHalf, high);
  });
  for (std::size_t i = 8 * fours + first_element(); i < count; i += all_threads()) {
    const std::size_t begin = i / kWireBlock * kWireBlock;
    const std::size_t length = count - begin < kWireBlock ? count - begin : kWireBlock;
    const std::size_t half = (length + 1) / 2;
    const std::size_t at = i - begin;
    const unsigned byte = from.codes[begin / 2 + (at < half ? at : at - half)];
    const float scale = float_of_bf16(from.scales[i / kWireBlock]);
    values[i] = e3m0_value(at < half ? byte & 15U : byte >> 4U) * scale;
  }
}

__global__ void decode_bf16_kernel(const std::uint16_t* from, std::size_t count, std::size_t eights, float* values) {
  for (std::size_t e = first_element(); e < eights; e += all_threads()) {
    const Eight codes = load_pack(from + 8 * e);
    Pack<float> low, high;
    for (unsigned k = 0; k < 4; ++k) {
      low.at[k] = float_of_bf16(codes.at[k]);
      high.at[k] = float_of_bf16(codes.at[k + 4]);
    }
    store_pack(values + 8 * e, low);
    store_pack(values + 8 * e + 4, high);
  }
  for (std::size_t i = 8 * eights + first_element(); i < count; i += all_threads()) values[i] = float_of_bf16(from[i]);
}

__global__ void copy_uncarried_kernel(const std::uint32_t* largest, const float* from, std::size_t count, float* to) {
  if (is_carried(*largest)) return;
  for (std::size_t i = first_element(); i < count; i += all_threads()) to[i] = from[i];
}

Grid grid_of_encoders(std::size_t count) {
  return one_block_each(std::min(parts_of(parts_of(count, kWireBlock), kBlocksAtOnce), kEncodersMost));
}

// Loads and stores of several values can be used: the values lie at 16 bytes, the codes at 4.
bool is_packed(const float* values, const std::uint8_t* codes) {
  return is_aligned(values) && reinterpret_cast<std::uintptr_t>(codes) % 4 == 0;
}

// Groups of eight values in bf16, where both sides lie at 16 bytes.
std::size_t eights_of(const float* values, const std::uint16_t* codes, std::size_t count) {
  return is_aligned(values) && is_aligned(codes) ? count / 8 : 0;
}

// Groups of four bytes, or value by value where there are none.
Grid grid_of_decoders(std::size_t count, std::size_t fours) {
  return grid_over(fours == 0 ? count : parts_of(fours, kFoursAtOnce));
}

}  // namespace

LaunchError encode_int8(const float* values, std::size_t count, const EncodedInt8& into, std::uint32_t* largest,
                        Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_of_encoders(count), stream, encode_int8_kernel, values, count, is_packed(values, into.codes), into,
                largest);
}

LaunchError decode_int8(const EncodedInt8& from, std::size_t count, float* values, Stream stream) {
  if (count == 0) return kLaunched;
  const std::size_t fours = is_packed(values, from.codes) ? count / 4 : 0;
  return launch(grid_of_decoders(count, fours), stream, decode_int8_kernel, from, count, fours, values);
}

LaunchError encode_e3m0(const float* values, std::size_t count, const EncodedE3m0& into, std::uint32_t* largest,
                        Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_of_encoders(count), stream, encode_e3m0_kernel, values, count, is_packed(values, into.codes), into,
                largest);
}

LaunchError decode_e3m0(const EncodedE3m0& from, std::size_t count, float* values, Stream stream) {
  if (count == 0) return kLaunched;
  const std::size_t fours = is_packed(values, from.codes) ? count / kWireBlock * (kHalf / 4) : 0;
  return launch(grid_of_decoders(count, fours), stream, decode_e3m0_kernel, from, count, fours, values);
}

LaunchError encode_bf16(const float* values, std::size_t count, std::uint16_t* into, std::uint32_t* largest,
                        Stream stream) {
  if (count == 0) return kLaunched;
  const std::size_t eights = eights_of(values, into, count);
  const Grid grid = one_block_each(std::min(parts_of(eights == 0 ? count : eights, kThreads), kEncodersMost));
  return launch(grid, stream, encode_bf16_kernel, values, count, eights, into, largest);
}

LaunchError decode_bf16(const std::uint16_t* from, std::size_t count, float* values, Stream stream) {
  if (count == 0) return kLaunched;
  const std::size_t eights = eights_of(values, from, count);
  return launch(grid_over(eights == 0 ? count : eights), stream, decode_bf16_kernel, from, count, eights, values);
}

LaunchError copy_uncarried(const std::uint32_t* largest, const float* from, std::size_t count, float* to,
                           Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, copy_uncarried_kernel, largest, from, count, to);
}

}  // namespace shoal::gpu
