// First the header, whose length says how long the frame is.
#include "runtime/transport/lanes/frame_reader.h"

#include <cstdint>

#include "runtime/base/compose.h"

namespace shoal {

Result<bool> FrameReader::filled(std::size_t count) {
  have_ += count;
  if (have_ < frame_.size()) return false;
  if (frame_.size() > kFrameHeaderBytes) return true;
  const std::uint64_t payload = payload_size_in(frame_);
  if (payload == 0 || payload > kFrameBytesMax - kFrameHeaderBytes) {
    return fail(Error::kInvalidData, compose("a frame of ", payload, " bytes"));
  }
  frame_.resize(kFrameHeaderBytes + payload);
  return false;
}

void FrameReader::next() {
  frame_.resize(kFrameHeaderBytes);
  have_ = 0;
}

}  // namespace shoal
