// The guard on every frame of the actor library's wire protocol (basp_frame.h), before the library sees it.
//
//   state: greeting --handshake of the other side--> open --any frame of ours--> open
//   frame: header --no payload--> judged        header --n--> kept back, payload read --> judged as a whole
//
// The library crashes on what it does not expect, and allocates whatever length is announced; an admitted peer must not
// be able to do either. So it reads what some honest process of this version may send, and nothing else: what its own
// kind asks for behind our back is dropped, and so are frames routed for a third process (nobody is a relay here);
// whatever else comes ends the connection. A connection speaks for one process, which never changes, and for one actor
// of it, its router: each other one would be remembered by the library for as long as the connection lives (S-6).
// Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/transport/guard/basp_frame.h"

namespace shoal {

class FrameGuard {
 public:
  enum class Side {
    kAccepted,  // they dialled: they greet as a client does
    kDialled,
  };
  static constexpr std::size_t kHeaderBytes = basp::kHeaderBytes;
  static constexpr int kMonitorsMax = 16;  // in a connection's life; a peer watches one actor of ours, our router

  FrameGuard(Side side, const basp::Node& self, std::uint32_t frame_bytes_max)
      : side_(side), self_(self), frame_bytes_max_(frame_bytes_max) {}

  enum class Verdict {
    kDeliver,  // hand these bytes to the library: a header without payload, or header() and then this payload
    kWait,     // a header: read next_read_bytes() of payload before the next inspect()
    kDrop,     // not for the library; next_read_bytes() are next
    kClose,    // reason() says why
  };
  // `data` holds exactly what was asked for: a header, or the whole payload that its header announced.
  [[nodiscard]] Verdict inspect(const void* data, std::size_t size);
  // True for a payload that is dropped whatever it says: it need not be kept; the next inspect() may be given none.
  [[nodiscard]] bool drops_payload() const { return state_ == State::kDroppedPayload; }
  [[nodiscard]] std::size_t next_read_bytes() const { return next_read_bytes_; }
  // Header of the payload that was judged last, as it came.
  [[nodiscard]] basp::Bytes header() const { return header_bytes_; }
  // Returns what the process at the other end calls itself; nothing before its handshake was judged good.
  [[nodiscard]] const std::optional<basp::Node>& peer() const { return peer_; }
  [[nodiscard]] std::string_view reason() const { return reason_; }

 private:
  enum class State { kHeader, kPayload, kDroppedPayload };

  [[nodiscard]] Verdict inspect_header(basp::Bytes bytes);
  [[nodiscard]] Verdict inspect_payload(basp::Bytes payload);
  [[nodiscard]] Verdict judge_greeting(basp::Bytes payload);
  [[nodiscard]] Verdict judge_message(basp::Bytes payload);
  [[nodiscard]] Verdict judge_down(basp::Bytes payload);
  [[nodiscard]] bool is_greeting(basp::Operation operation) const;
  [[nodiscard]] Verdict close(std::string_view reason);
  [[nodiscard]] Verdict drop();

  Side side_;
  basp::Node self_;
  std::uint32_t frame_bytes_max_;
  State state_ = State::kHeader;
  std::size_t next_read_bytes_ = kHeaderBytes;
  basp::Header header_;
  std::array<unsigned char, kHeaderBytes> header_bytes_{};
  std::optional<basp::Node> peer_;
  bool has_selected_ = false;  // a client may choose this connection once
  std::uint64_t speaker_ = 0;  // 0: nobody has spoken
  int monitors_ = 0;
  std::string_view reason_;
};

// Bounds what a connection's buffer keeps once nothing large has gone through it for a while: the library's never
// shrink, and after one checkpoint sent to a peer would keep its size for as long as the peer lives (S-6).
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
