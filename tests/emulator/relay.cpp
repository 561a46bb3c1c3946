// Non-blocking sockets; what cannot be written waits in its pipe.
#include "tests/emulator/relay.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace shoal {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr std::size_t kDirections = 2;

void make_nonblocking(int descriptor) { ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// Else the emulator would add a wait of its own: what is small would be held back until what went before is
// acknowledged.
void send_at_once(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Closing it sends a reset instead of an orderly end.
void make_abrupt(const Socket& socket) {
  const linger at_once{1, 0};
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

Relay::Relay(Socket dialler, Socket dialled, LinkEnds ends, std::uint64_t seed)
    : ends_(std::move(ends)), pipes_{FaultyPipe(seed), FaultyPipe(seed + 1)} {
  sides_[0].socket = std::move(dialler);
  sides_[1].socket = std::move(dialled);
  for (const Side& side : sides_) {
    make_nonblocking(side.socket.descriptor());
    send_at_once(side.socket);
  }
}

void Relay::work(const FaultsOfRelay& faults, Instant now) {
  for (std::size_t direction = 0; direction < kDirections; ++direction) read(direction, faults, now);
  for (std::size_t direction = 0; direction < kDirections; ++direction) write(direction, faults, now);
  for (std::size_t direction = 0; direction < kDirections; ++direction) pass_on_end(direction, faults, now);
}

void Relay::read(std::size_t direction, const FaultsOfRelay& faults, Instant now) {
  Side& side = sides_[direction];
  FaultyPipe& pipe = pipes_[direction];
  char bytes[kReadBytes];
  while (side.can_read && pipe.room(faults[direction]) > 0) {
    const std::size_t size = std::min(sizeof bytes, pipe.room(faults[direction]));
    const ssize_t count = ::recv(side.socket.descriptor(), bytes, size, 0);
    if (count > 0) {
      pipe.take({bytes, static_cast<std::size_t>(count)}, faults[direction], now);
    } else if (count == 0) {
      side.can_read = false;
      pipe.end(StreamEnd::kFinished, faults[direction], now);
    } else {
      if (!would_block()) broke(direction, faults, now);
      return;
    }
  }
}

// Bytes for a side that is gone lead nowhere.
void Relay::write(std::size_t direction, const FaultsOfRelay& faults, Instant now) {
  const std::size_t target = 1 - direction;
  FaultyPipe& pipe = pipes_[direction];
  for (std::string_view bytes = pipe.due(faults[direction], now); !bytes.empty();
       bytes = pipe.due(faults[direction], now)) {
    if (!sides_[target].can_write) {
      pipe.sent(bytes.size());
      continue;
    }
    const ssize_t count = ::send(sides_[target].socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && would_block()) return;
    if (count < 0) {
      broke(target, faults, now);
      continue;
    }
    bytes_out_[direction] += static_cast<std::uint64_t>(count);
    pipe.sent(static_cast<std::size_t>(count));
  }
}

void Relay::broke(std::size_t side, const FaultsOfRelay& faults, Instant now) {
  sides_[side].can_read = sides_[side].can_write = false;
  pipes_[side].end(StreamEnd::kReset, faults[side], now);
}

void Relay::pass_on_end(std::size_t direction, const FaultsOfRelay& faults, Instant now) {
  const StreamEnd end = pipes_[direction].end_due(faults[direction], now);
  if (end == passed_on_[direction]) return;
  passed_on_[direction] = end;
  if (end == StreamEnd::kReset) return reset();
  Side& target = sides_[1 - direction];
  ::shutdown(target.socket.descriptor(), SHUT_WR);
  target.can_write = false;
  is_over_ = is_over_ || passed_on_[1 - direction] != StreamEnd::kNotYet;
}

void Relay::reset() {
  for (Side& side : sides_) {
    make_abrupt(side.socket);
    side.can_read = side.can_write = false;
  }
  is_over_ = true;
}

std::array<pollfd, 2> Relay::waits(const FaultsOfRelay& faults, Instant now) const {
  std::array<pollfd, 2> waits{};
  for (std::size_t side = 0; side < kDirections; ++side) {
    const std::size_t towards = 1 - side;
    pollfd& wait = waits[side];
    if (sides_[side].can_read && pipes_[side].room(faults[side]) > 0) wait.events |= POLLIN;
    if (sides_[side].can_write && !pipes_[towards].due(faults[towards], now).empty()) wait.events |= POLLOUT;
    wait.fd = wait.events == 0 ? -1 : sides_[side].socket.descriptor();
  }
  return waits;
}

std::optional<Instant> Relay::next(const FaultsOfRelay& faults, Instant now) const {
  std::optional<Instant> next;
  for (std::size_t direction = 0; direction < kDirections; ++direction) {
    const auto due = pipes_[direction].next(faults[direction]);
    if (due && *due > now) next = std::min(next.value_or(*due), *due);
  }
  return next;
}

}  // namespace shoal
