// Hashes of a state's bytes and of its messages, which are added up: a set has no order.
//
// The mixing steps are those of MurmurHash3's finaliser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shoal::protocol {

[[nodiscard]] inline std::uint64_t finish_hash(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44d;
  return x ^ x >> 33;
}

[[nodiscard]] inline std::uint64_t hash_number(std::uint64_t x) { return finish_hash(x * 0x9E3779B97F4A7C15 + 1); }

[[nodiscard]] inline std::uint64_t hash_bytes(const void* data, std::size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0x9E3779B97F4A7C15 ^ size;
  for (; size > 0;) {
    const std::size_t taken = size < 8 ? size : 8;
    std::uint64_t word = 0;
    std::memcpy(&word, at, taken);
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash = (hash ^ hash >> 32) * 0xc4ceb9fe1a85ec53;
    hash ^= hash >> 29;
    at += taken;
    size -= taken;
  }
  return hash;
}

}  // namespace shoal::protocol
