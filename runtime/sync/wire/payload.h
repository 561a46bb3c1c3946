// Values of a part, between a contribution's own elements and what travels.
//
// Two kinds: the elements as they are (int64, float32), and float32 in a wire format (wire_codec.h). Backends say
// which bucket goes where and call this for all arithmetic. Plain values are bytes of the contribution's type. Not
// shared between threads: it keeps scratch memory of one bucket.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"

namespace shoal {

using PlainBytes = std::span<const std::byte>;

class Payload {
 public:
  virtual ~Payload() = default;

  // True when packing can change the values.
  [[nodiscard]] virtual bool is_lossy() const = 0;
  // True for the values of a part about so many plain bytes that can be used. Nothing else takes what does not fit.
  [[nodiscard]] virtual bool fits(const TensorBlob& values, std::size_t byte_count) const = 0;
  // To what travels, or nothing if a value is beyond what can. lost, if not empty: what packing left out.
  [[nodiscard]] virtual std::optional<TensorBlob> pack(PlainBytes plain, std::span<float> lost) = 0;
  virtual void unpack(const TensorBlob& values, std::span<std::byte> plain) = 0;
  // total += more.
  virtual void add(PlainBytes more, std::span<std::byte> total) = 0;
  // pack(unpack(values) + own).
  [[nodiscard]] virtual std::optional<TensorBlob> combine(const TensorBlob& values, PlainBytes own,
                                                          std::span<float> lost) = 0;
};

// Ensures that the type is int64 or float32.
[[nodiscard]] std::unique_ptr<Payload> make_payload(DType dtype, WireFormat wire);

}  // namespace shoal
