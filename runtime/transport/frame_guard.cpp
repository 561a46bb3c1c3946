// Numbers and offsets are those of caf::io::basp::header in 0.17; the tests try them against the real library.
#include "runtime/transport/frame_guard.h"

namespace shoal {
namespace {

// Numbers of caf::io::basp::message_type.
constexpr unsigned kServerHandshake = 0;
constexpr unsigned kClientHandshake = 1;
constexpr unsigned kRoutedMessage = 3;
constexpr unsigned kHeartbeat = 6;

constexpr std::size_t kLengthOffset = 4;

std::uint32_t read_big_endian(const unsigned char* bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) | (std::uint32_t{bytes[2]} << 8) |
         std::uint32_t{bytes[3]};
}

}  // namespace

FrameGuard::Verdict FrameGuard::inspect(const void* data, std::size_t size) {
  switch (state_) {
    case State::kHeader: return inspect_header(static_cast<const unsigned char*>(data), size);
    case State::kPayload: state_ = State::kHeader; return Verdict::kDeliver;
    case State::kDroppedPayload:
      state_ = State::kHeader;
      next_read_bytes_ = kHeaderBytes;
      return Verdict::kDrop;
  }
  return Verdict::kCloseUnknown;
}

FrameGuard::Verdict FrameGuard::inspect_header(const unsigned char* header, std::size_t size) {
  if (size != kHeaderBytes) return Verdict::kCloseShort;
  const unsigned operation = header[0];
  const std::uint32_t length = read_big_endian(header + kLengthOffset);
  if (operation > kHeartbeat) return Verdict::kCloseUnknown;
  const bool is_handshake = operation == kServerHandshake || operation == kClientHandshake;
  if (is_handshake && length == 0) return Verdict::kCloseShort;
  if (length > frame_bytes_max_ || (is_handshake && length > kHandshakeBytesMax)) return Verdict::kCloseLong;
  if (operation == kRoutedMessage) {
    next_read_bytes_ = length == 0 ? kHeaderBytes : length;
    if (length > 0) state_ = State::kDroppedPayload;
    return Verdict::kDrop;
  }
  if (length > 0) state_ = State::kPayload;
  return Verdict::kDeliver;
}

std::size_t BufferBound::look(std::vector<char>& buffer, std::size_t used, std::chrono::steady_clock::time_point now) {
  if (used > kKeptBytes) needed_at_ = now;
  const bool is_idle = buffer.empty() && now - needed_at_ >= kKeptFor;
  if (!is_idle || buffer.capacity() <= kKeptBytes) return 0;
  const std::size_t given_back = buffer.capacity();
  std::vector<char>().swap(buffer);
  return given_back;
}

}  // namespace shoal
