// First the header, whose length says how long the frame is.
#include "runtime/transport/lanes/frame_reader.h"

#include <cstdint>

#include "runtime/base/compose.h"

namespace shoal {

Result<bool> FrameReader::filled(std::size_t count) {
  have_ += count;
  if (have_ < size_) return false;
  if (size_ > kFrameHeaderBytes) return true;
  const std::uint64_t payload = payload_size_in(memory_);
  if (payload == 0 || payload > kFrameBytesMax - kFrameHeaderBytes) {
    return fail(Error::kInvalidData, compose("a frame of ", payload, " bytes"));
  }
  size_ = kFrameHeaderBytes + payload;
  if (memory_.size() < size_) memory_.resize(size_);
  return false;
}

void FrameReader::next() {
  size_ = kFrameHeaderBytes;
  have_ = 0;
}

}  // namespace shoal
