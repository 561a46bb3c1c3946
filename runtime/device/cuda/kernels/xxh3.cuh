// XXH3-64 with seed 0 and the standard secret (xxHash 0.8), for inputs of whole 32-bit words.
//
// Long inputs are eight lanes of 64 bits over stripes of 64 bytes, which is what eight threads do in block_digest.cu;
// inputs of at most 240 bytes are for one thread. Names of the parts are xxHash's.
#pragma once

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu::xxh3 {

inline constexpr std::uint64_t kPrime32_1 = 0x9E3779B1U;
inline constexpr std::uint64_t kPrime64_1 = 0x9E3779B185EBCA87U;
inline constexpr unsigned kLanes = 8;
inline constexpr unsigned kStripesPerBlock = 16;
inline constexpr std::size_t kStripeBytes = 64;
inline constexpr std::size_t kShortMost = 240;  // bytes that are hashed without lanes

struct Secret {
  unsigned char bytes[192];
  [[nodiscard]] SHOAL_ELEMENT constexpr std::uint64_t word(unsigned offset) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(bytes[offset + i]) << (8 * i);
    return value;
  }
};

inline constexpr Secret kSecret = {
    {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
     0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
     0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
     0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
     0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
     0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
     0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
     0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
     0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
     0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
     0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e}};

// What the lanes need of the secret, as words. The offsets 121 and 11 are xxHash's.
struct LaneWords {
  std::uint64_t stripes[24], last[8], merge[8], start[8];
};
constexpr LaneWords lane_words() {
  LaneWords words = {{},
                     {},
                     {},
                     {0xC2B2AE3DU, kPrime64_1, 0xC2B2AE3D27D4EB4FU, 0x165667B19E3779F9U, 0x85EBCA77C2B2AE63U,
                      0x85EBCA77U, 0x27D4EB2F165667C5U, kPrime32_1}};
  for (unsigned i = 0; i < 24; ++i) words.stripes[i] = kSecret.word(8 * i);
  for (unsigned i = 0; i < 8; ++i) words.last[i] = kSecret.word(121 + 8 * i);
  for (unsigned i = 0; i < 8; ++i) words.merge[i] = kSecret.word(11 + 8 * i);
  return words;
}

__device__ __forceinline__ std::uint64_t read_word(const std::uint32_t* at) {
  return at[0] | static_cast<std::uint64_t>(at[1]) << 32U;
}
__device__ __forceinline__ std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
  return a * b ^ __umul64hi(a, b);
}
__device__ __forceinline__ std::uint64_t avalanche(std::uint64_t hash) {
  hash = (hash ^ (hash >> 37U)) * 0x165667919E3779F9U;
  return hash ^ (hash >> 32U);
}

// One stripe in one lane. neighbour: the word of the lane beside it, lane ^ 1.
__device__ __forceinline__ std::uint64_t accumulated(std::uint64_t sum, std::uint64_t word, std::uint64_t neighbour,
                                                     std::uint64_t secret) {
  const std::uint64_t key = word ^ secret;
  return sum + neighbour + (key & 0xFFFFFFFFU) * (key >> 32U);
}
__device__ __forceinline__ std::uint64_t scrambled(std::uint64_t sum, std::uint64_t secret) {
  return ((sum ^ (sum >> 47U)) ^ secret) * kPrime32_1;
}

template <unsigned kOffset>
__device__ __forceinline__ std::uint64_t mix16(const std::uint32_t* at) {
  constexpr std::uint64_t kLow = kSecret.word(kOffset), kHigh = kSecret.word(kOffset + 8);
  return fold_product(read_word(at) ^ kLow, read_word(at + 2) ^ kHigh);
}

__device__ __forceinline__ std::uint64_t hash_of_4_to_16(const std::uint32_t* in, std::uint64_t size) {
  if (size <= 8) {
    constexpr std::uint64_t kFlip = kSecret.word(8) ^ kSecret.word(16);
    std::uint64_t hash = (in[size / 4 - 1] | static_cast<std::uint64_t>(in[0]) << 32U) ^ kFlip;
    hash ^= ((hash << 49U) | (hash >> 15U)) ^ ((hash << 24U) | (hash >> 40U));
    hash *= 0x9FB21C651E98DF25U;
    hash = (hash ^ ((hash >> 35U) + size)) * 0x9FB21C651E98DF25U;
    return hash ^ (hash >> 28U);
  }
  constexpr std::uint64_t kFlipLow = kSecret.word(24) ^ kSecret.word(32);
  constexpr std::uint64_t kFlipHigh = kSecret.word(40) ^ kSecret.word(48);
  const std::uint64_t low = read_word(in) ^ kFlipLow;
  const std::uint64_t high = read_word(in + size / 4 - 2) ^ kFlipHigh;
  std::uint64_t swapped = (low << 32U) | (low >> 32U);  // of its bytes: halves, pairs, single ones
  swapped = ((swapped & 0x0000FFFF0000FFFFU) << 16U) | ((swapped >> 16U) & 0x0000FFFF0000FFFFU);
  swapped = ((swapped & 0x00FF00FF00FF00FFU) << 8U) | ((swapped >> 8U) & 0x00FF00FF00FF00FFU);
  return avalanche(size + swapped + high + fold_product(low, high));
}

__device__ __forceinline__ std::uint64_t hash_of_17_to_128(const std::uint32_t* in, std::uint64_t size) {
  const std::uint32_t* end = in + size / 4;
  std::uint64_t hash = size * kPrime64_1;
  if (size > 96) hash += mix16<96>(in + 12) + mix16<112>(end - 16);
  if (size > 64) hash += mix16<64>(in + 8) + mix16<80>(end - 12);
  if (size > 32) hash += mix16<32>(in + 4) + mix16<48>(end - 8);
  return avalanche(hash + mix16<0>(in) + mix16<16>(end - 4));
}

// Of each round it does those that the size has: the secret's offset is a constant of each.
template <unsigned kRound>
__device__ __forceinline__ std::uint64_t later_rounds(const std::uint32_t* in, std::uint64_t rounds) {
  if constexpr (kRound < 15) {
    if (kRound >= rounds) return 0;
    return mix16<16 * (kRound - 8) + 3>(in + 4 * kRound) + later_rounds<kRound + 1>(in, rounds);
  } else {
    return 0;
  }
}

__device__ __forceinline__ std::uint64_t hash_of_129_to_240(const std::uint32_t* in, std::uint64_t size) {
  std::uint64_t hash = size * kPrime64_1;
  hash += mix16<0>(in) + mix16<16>(in + 4) + mix16<32>(in + 8) + mix16<48>(in + 12);
  hash += mix16<64>(in + 16) + mix16<80>(in + 20) + mix16<96>(in + 24) + mix16<112>(in + 28);
  return avalanche(avalanche(hash) + later_rounds<8>(in, size / 16) + mix16<119>(in + size / 4 - 4));
}

// size: 4 to kShortMost bytes, a multiple of 4.
__device__ __forceinline__ std::uint64_t short_hash(const std::uint32_t* in, std::uint64_t size) {
  if (size <= 16) return hash_of_4_to_16(in, size);
  return size <= 128 ? hash_of_17_to_128(in, size) : hash_of_129_to_240(in, size);
}

}  // namespace shoal::gpu::xxh3
