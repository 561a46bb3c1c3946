// image_bytes: the size of the image that a SaveShard or a StateImage brings, or a piece of it.
//
// A sender that gives an image whole need not say how large it is.
#pragma once

#include <cstdint>

namespace shoal {

template <class Message>
[[nodiscard]] std::uint64_t image_bytes(const Message& message) {
  return message.bytes_total > 0 ? message.bytes_total : message.image.byte_count();
}

}  // namespace shoal
