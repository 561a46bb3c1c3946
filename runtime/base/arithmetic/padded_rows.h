// The rows of a head's weight as products in bf16 take them on a device with kernels of its own: 64 divides their
// number, because products of odd sizes miss a GPU's fast kernels. Rows behind the vocabulary are zero. The head is
// computed so (model/parts/projection), and its memory is planned so (runtime/plan/resources/device_fit).
#pragma once

#include <cstdint>

namespace shoal {

[[nodiscard]] constexpr std::int64_t padded_rows(std::int64_t vocabulary) {
  constexpr std::int64_t kRowsTogether = 64;
  return (vocabulary + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
}

}  // namespace shoal
