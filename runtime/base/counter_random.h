// Randomness as a pure function of a key and a counter: Philox4x32-10.
//
// Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011). No state: initial weights, the order of
// samples and dropout are each a function of (seed, step, index, layer), so that a restarted or replaced worker draws
// the same numbers and no draw depends on who drew before. The bits are part of the contract with old runs: never
// change them. Known answers of the paper's library are pinned in tests/runtime/base/counter_random_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shoal {

// Four random words for a 128-bit counter and a 64-bit key. A bijection of the counter for each key.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                                std::array<std::uint32_t, 2> key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

// A 64-bit seed as a key, its low word first.
[[nodiscard]] constexpr std::array<std::uint32_t, 2> philox_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
}

// A counter of two 64-bit halves, each with its low word first: (index, stream).
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox_counter(std::uint64_t index, std::uint64_t stream) {
  return {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U),
          static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32U)};
}

// 53 random bits of two words as a double in [0, 1): multiples of 2^-53. 1 - uniform01() is in (0, 1], fit for log().
[[nodiscard]] constexpr double uniform01(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = (std::uint64_t{high} << 32U | low) >> 11U;
  return static_cast<double>(bits) * 0x1p-53;
}

// FNV-1a of a name: a stream of its own for each tensor or purpose.
[[nodiscard]] constexpr std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char character : name) {
    hash ^= static_cast<std::uint8_t>(character);
    hash *= 0x100000001B3U;
  }
  return hash;
}

}  // namespace shoal
