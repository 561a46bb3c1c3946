// recv and send, until there is nothing more to read or no room to write.
#include "runtime/transport/lanes/local_lane_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace shoal {
namespace {

constexpr int kBufferBytes = 1 << 20;  // the system gives what it allows

}  // namespace

LocalLaneSocket::LocalLaneSocket(Socket socket) : LaneSocket(std::move(socket)) {
  ::setsockopt(descriptor(), SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
}

LaneSocket::Outcome LocalLaneSocket::read(std::span<char>& room) {
  while (!room.empty()) {
    const ssize_t count = ::recv(descriptor(), room.data(), room.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return verdict();
    if (count == 0) {
      was_closed_by_peer_ = true;
      reason_ = "closed by the peer";
      return Outcome::kClosed;
    }
    room = room.subspan(static_cast<std::size_t>(count));
  }
  return Outcome::kDone;
}

LaneSocket::Outcome LocalLaneSocket::write(std::span<const char>& bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return verdict();
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return Outcome::kDone;
}

LaneSocket::Outcome LocalLaneSocket::verdict() {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return Outcome::kWait;
  reason_ = std::strerror(errno);
  return Outcome::kClosed;
}

}  // namespace shoal
