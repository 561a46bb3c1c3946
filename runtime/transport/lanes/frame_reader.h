// Frames out of a stream of bytes: where the next bytes go, and when a frame is whole. Pure.
//
// A frame's length is believed only within the bound, and memory is taken as it comes (S-6); everything else in it is
// the assembler's to check.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/transport/assembly.h"

namespace shoal {

class FrameReader {
 public:
  static constexpr std::size_t kPieceBytesMax = std::size_t{64} << 10;  // beyond what has come

  FrameReader() : memory_(kFrameHeaderBytes) {}

  // For what is still missing of the header, or for the next piece of the frame. Never empty.
  [[nodiscard]] std::span<char> room();
  // Takes so many bytes of the room as filled. True: frame() is whole, until next(). Errors: kInvalidData, its length.
  [[nodiscard]] Result<bool> filled(std::size_t count);
  [[nodiscard]] std::span<const char> frame() const { return std::span(memory_).first(size_); }
  void next();

 private:
  std::vector<char> memory_;  // as long as the longest frame so far: growing it again would clear it again
  std::size_t size_ = kFrameHeaderBytes;
  std::size_t have_ = 0;
};

}  // namespace shoal
