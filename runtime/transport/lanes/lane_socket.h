// Carries a lane's bytes, past every handshake: TLS, or a socket within this machine. For the lanes' thread: no call
// waits, and a call that cannot go on says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "runtime/transport/sockets.h"

namespace shoal {

class LaneSocket {
 public:
  enum class Outcome { kDone, kWait, kClosed };

  explicit LaneSocket(Socket socket) : socket_(std::move(socket)) {}
  LaneSocket(const LaneSocket&) = delete;
  LaneSocket& operator=(const LaneSocket&) = delete;
  virtual ~LaneSocket() = default;

  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  // Fills `room` as far as there is something now; what was filled is cut off its front.
  [[nodiscard]] virtual Outcome read(std::span<char>& room) = 0;
  // Takes from the front of `bytes` as much as goes now. After kWait the same bytes come first again.
  [[nodiscard]] virtual Outcome write(std::span<const char>& bytes) = 0;
  // Sends what writes have left together. kDone: all of it is the system's.
  [[nodiscard]] virtual Outcome flush() = 0;
  // Returns the way of an accepted connection, a number made of both ends' addresses (lane_greeting.h). 0: not known.
  [[nodiscard]] virtual std::uint64_t way() const = 0;
  // Within this machine, past TLS.
  [[nodiscard]] virtual bool is_local() const = 0;

  // Says why the last call said kClosed.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  // True when the peer has closed it in order, rather than something has broken it.
  [[nodiscard]] bool was_closed_by_peer() const { return was_closed_by_peer_; }

 protected:
  Socket socket_;
  std::string reason_;
  bool was_closed_by_peer_ = false;
};

}  // namespace shoal
