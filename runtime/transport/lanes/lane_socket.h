// A TLS session past its handshake, on a descriptor of its own, for the lanes' thread: it never waits.
//
// Records of several writes go to the system together, and reads take what the system has: a letter of some hundred
// kilobytes costs a few system calls instead of three per record of 16 KiB.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "runtime/transport/sockets.h"

struct ssl_st;

namespace shoal {

class LaneSocket {
 public:
  enum class Outcome { kDone, kWait, kClosed };

  // Takes over the session, which is told of the descriptor. What was sent and is not acknowledged for so long breaks
  // the connection.
  LaneSocket(Socket socket, ssl_st* session, std::chrono::milliseconds silence_max);
  LaneSocket(LaneSocket&& other) noexcept;
  LaneSocket& operator=(LaneSocket&&) = delete;
  ~LaneSocket();

  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  // Fills `room` as far as there is something now; what was filled is cut off its front.
  [[nodiscard]] Outcome read(std::span<char>& room);
  // Takes from the front of `bytes` as much as goes now. After kWait the same bytes come first again.
  [[nodiscard]] Outcome write(std::span<const char>& bytes);
  // Sends what writes have left together. kDone: all of it is the system's.
  [[nodiscard]] Outcome flush();
  // Why the last call said kClosed.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  // Whether the peer has closed it in order, rather than something has broken it.
  [[nodiscard]] bool was_closed_by_peer() const { return was_closed_by_peer_; }

 private:
  [[nodiscard]] Outcome verdict(int result);

  Socket socket_;
  ssl_st* session_;
  std::string reason_;
  bool was_closed_by_peer_ = false;
};

}  // namespace shoal
