// Abstract Unix-domain stream sockets, and whose process is at the other end (SO_PEERCRED).
#include "runtime/transport/lanes/local_door.h"

#include <openssl/rand.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "runtime/base/ensure.h"
#include "runtime/transport/lanes/lane_greeting.h"

namespace shoal {
namespace {

constexpr int kDoorBacklog = 64;
constexpr std::string_view kDoorPrefix = "shoal-lane-";

struct UnixAddress {
  sockaddr_un address{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// An abstract name begins with a zero byte.
[[nodiscard]] UnixAddress address_of(const std::string& name) {
  UnixAddress address;
  address.address.sun_family = AF_UNIX;
  ENSURE(name.size() < sizeof address.address.sun_path, "names of local doors are of one length");
  std::memcpy(address.address.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

[[nodiscard]] std::string unguessable_name() {
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuv";
  std::array<unsigned char, kLocalDoorNameBytes - kDoorPrefix.size()> random{};  // 5 bits of each are used
  ENSURE(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1, "the system has randomness");
  std::string name(kDoorPrefix);
  for (const unsigned char byte : random) name.push_back(kDigits[byte % 32]);
  return name;
}

[[nodiscard]] Socket local_socket() { return Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

// A user that another namespace has no number for is nobody's.
[[nodiscard]] bool is_of_our_user(const Socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

std::optional<LocalDoor> LocalDoor::open() {
  Socket socket = local_socket();
  std::string name = unguessable_name();
  const UnixAddress address = address_of(name);
  const bool is_open = socket.is_open() && ::bind(socket.descriptor(), address.get(), address.size) == 0 &&
                       ::listen(socket.descriptor(), kDoorBacklog) == 0;
  if (!is_open) return std::nullopt;
  return LocalDoor(std::move(socket), std::move(name));
}

LocalDoor::Visit LocalDoor::accept() const {
  Socket socket(::accept4(descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.is_open()) return {};
  if (!is_of_our_user(socket)) return {std::nullopt, true};
  return {std::move(socket), false};
}

Result<Socket> dial_local(const std::string& name) {
  Socket socket = local_socket();
  const UnixAddress address = address_of(name);
  if (!socket.is_open() || ::connect(socket.descriptor(), address.get(), address.size) != 0) {
    return fail(Error::kUnreachable, std::strerror(errno));
  }
  if (!is_of_our_user(socket)) return fail(Error::kRefused, "It is another user's.");
  return socket;
}

}  // namespace shoal
