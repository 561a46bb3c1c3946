// First the header, whose length says how long the frame is.
#include "runtime/transport/lanes/frame_reader.h"

#include <algorithm>
#include <cstdint>

#include "runtime/base/compose.h"

namespace shoal {

std::span<char> FrameReader::room() {
  const std::size_t wanted = std::min(size_, have_ + kPieceBytesMax);
  if (memory_.size() < wanted) memory_.resize(wanted);
  return std::span(memory_).subspan(have_, std::min(size_, memory_.size()) - have_);
}

Result<bool> FrameReader::filled(std::size_t count) {
  have_ += count;
  if (have_ < size_) return false;
  if (size_ > kFrameHeaderBytes) return true;
  const std::uint64_t payload = payload_size_in(memory_);
  if (payload == 0 || payload > kFrameBytesMax - kFrameHeaderBytes) {
    return fail(Error::kInvalidData, compose("a frame of ", payload, " bytes"));
  }
  size_ = kFrameHeaderBytes + payload;
  return false;
}

void FrameReader::next() {
  size_ = kFrameHeaderBytes;
  have_ = 0;
}

}  // namespace shoal
