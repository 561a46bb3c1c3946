// The guard on every frame of the actor library's wire protocol (BASP), before the library sees it.
//
//   frame  = header payload          header = operation:u8, padding:u16, flags:u8, payload_length:be32, 3 x u64
//   state  : header --length 0--> header
//            header --length n--> payload (passed on or dropped) --> header
//
// The library crashes on handshakes without payload and allocates whatever length is announced; an admitted peer
// must not be able to do either. Frames routed for a third process are dropped: nobody is a relay here. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal {

class FrameGuard {
 public:
  static constexpr std::size_t kHeaderBytes = 32;
  static constexpr std::uint32_t kHandshakeBytesMax = 64u << 10;

  explicit FrameGuard(std::uint32_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

  enum class Verdict {
    kDeliver,      // hand these bytes to the library
    kDrop,         // do not; read next_read_bytes() next
    kCloseShort,   // not a header, or a handshake without payload
    kCloseLong,    // announces more than is allowed
    kCloseUnknown  // no such operation
  };
  // `data` holds exactly what was asked for: a header, or the payload its header announced.
  [[nodiscard]] Verdict inspect(const void* data, std::size_t size);
  // Valid after kDrop: how many bytes to read before the next inspect().
  [[nodiscard]] std::size_t next_read_bytes() const { return next_read_bytes_; }

 private:
  enum class State { kHeader, kPayload, kDroppedPayload };

  [[nodiscard]] Verdict inspect_header(const unsigned char* header, std::size_t size);

  std::uint32_t frame_bytes_max_;
  State state_ = State::kHeader;
  std::size_t next_read_bytes_ = kHeaderBytes;
};

// What a connection's buffer keeps once nothing large has gone through it for a while: the library's buffers never
// shrink, and whoever has once sent a checkpoint to a peer would keep its size for as long as the peer lives (S-6).
class BufferBound {
 public:
  static constexpr std::size_t kKeptBytes = 64u << 10;
  static constexpr std::chrono::seconds kKeptFor{1};  // so that traffic of large frames never waits for fresh pages

  // `buffer` has just held `used` bytes. It is given back when it is empty, large, and was not needed for kKeptFor.
  // How many bytes were given back.
  std::size_t look(std::vector<char>& buffer, std::size_t used, std::chrono::steady_clock::time_point now);

 private:
  std::chrono::steady_clock::time_point needed_at_{};
};

}  // namespace shoal
