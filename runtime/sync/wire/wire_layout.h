// Says where the parts of an encoded vector lie, header, scales and codes, wherever it is encoded.
// Their meaning stands in wire_codec.h. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/config.h"
#include "runtime/sync/wire/wire_elements.h"

namespace shoal {

inline constexpr std::size_t kWireHeaderBytes = 64;

struct WireShape {
  WireFormat format = WireFormat::kFp32;
  std::uint64_t count = 0;  // values; of a vector in memory: of a larger one sizes would overflow
  friend bool operator==(const WireShape&, const WireShape&) = default;
};

[[nodiscard]] constexpr std::size_t wire_blocks(std::size_t count) { return (count + kWireBlock - 1) / kWireBlock; }

// Behind the header.
[[nodiscard]] constexpr std::size_t scale_bytes(const WireShape& shape) {
  switch (shape.format) {
    case WireFormat::kFp32:
    case WireFormat::kBf16: return 0;
    case WireFormat::kInt8: return wire_blocks(shape.count) * sizeof(float);
    case WireFormat::kE3m0: return wire_blocks(shape.count) * sizeof(std::uint16_t);
  }
  return 0;
}

// Behind the scales. A whole block of E3M0 fills its bytes, so only the last one can leave a nibble over.
[[nodiscard]] constexpr std::size_t code_bytes(const WireShape& shape) {
  switch (shape.format) {
    case WireFormat::kFp32: return shape.count * sizeof(float);
    case WireFormat::kBf16: return shape.count * sizeof(std::uint16_t);
    case WireFormat::kInt8: return shape.count;
    case WireFormat::kE3m0: return (shape.count + 1) / 2;
  }
  return 0;
}

[[nodiscard]] constexpr std::size_t codes_at(const WireShape& shape) { return kWireHeaderBytes + scale_bytes(shape); }
[[nodiscard]] constexpr std::size_t encoded_bytes(const WireShape& shape) {
  return codes_at(shape) + code_bytes(shape);
}

}  // namespace shoal
