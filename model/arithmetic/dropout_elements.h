// Dropout's random words for four elements in a row: Philox4x32-10 as runtime/base/counter_random.h has it, in a form
// that kernels can call. model/dropout.h says what index, stream and key are.
#pragma once

#include <cstdint>

#include "runtime/base/arithmetic/element.h"

namespace shoal {

struct FourWords {
  std::uint32_t at[4];
};

// philox4x32(philox_counter(index, stream), philox_key(seed)).
SHOAL_ELEMENT FourWords random_words(std::uint64_t index, std::uint64_t stream, std::uint64_t seed) {
  std::uint32_t c0 = static_cast<std::uint32_t>(index), c1 = static_cast<std::uint32_t>(index >> 32U);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32U);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32U);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(second >> 32U) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(second);
    c2 = static_cast<std::uint32_t>(first >> 32U) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(first);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace shoal
