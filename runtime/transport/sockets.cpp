// getaddrinfo, poll, getsockname, and nothing that waits without a deadline but the resolver itself.
#include "runtime/transport/sockets.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"

namespace shoal {
namespace {

constexpr int kBacklog = 1024;  // room for honest peers behind strangers who fill it, until all of it is looked at

struct AddressDeleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressDeleter>;

Result<AddressList> resolve(const HostPort& address, int socket_type, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = socket_type;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  const int code = ::getaddrinfo(host, port.c_str(), &hints, &list);
  if (code == 0) return AddressList(list);
  return fail(Error::kUnreachable,
              compose("Cannot find the address of ", address.host, ": ", ::gai_strerror(code), "."));
}

void switch_on(int descriptor, int level, int option) {
  const int on = 1;
  ::setsockopt(descriptor, level, option, &on, sizeof on);
}

bool wait_for(int descriptor, short events, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now()).count();
    pollfd entry{descriptor, events, 0};
    const auto timeout = std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max());
    const int ready = ::poll(&entry, 1, static_cast<int>(timeout));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

// Connects to one address. On failure errno says why.
Socket connect_to(const addrinfo& target, Deadline deadline) {
  Socket socket(::socket(target.ai_family, target.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, target.ai_protocol));
  if (!socket.is_open()) return Socket();
  if (::connect(socket.descriptor(), target.ai_addr, target.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return Socket();
    if (!wait_for(socket.descriptor(), POLLOUT, deadline)) {
      errno = ETIMEDOUT;
      return Socket();
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      errno = error;
      return Socket();
    }
  }
  switch_on(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY);
  return socket;
}

std::string numeric_host(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = {};
  const int code =
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? std::string(host) : std::string();
}

std::uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string numeric_end(int descriptor, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (ask(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::string();
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return std::string();
  return host_port_text({numeric_host(address, size), port_of(address)});
}

// Listens at the first address where that is possible. On failure errno says why.
Socket listen_at_any(const addrinfo& list) {
  int reason = EADDRNOTAVAIL;
  for (const addrinfo* target = &list; target != nullptr; target = target->ai_next) {
    Socket socket(::socket(target->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, target->ai_protocol));
    if (socket.is_open()) {
      switch_on(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR);
      const bool is_bound = ::bind(socket.descriptor(), target->ai_addr, target->ai_addrlen) == 0;
      if (is_bound && ::listen(socket.descriptor(), kBacklog) == 0) return socket;
    }
    reason = errno;
  }
  errno = reason;
  return Socket();
}

// Says what a person can do where listening at an address fails for a reason (errno).
std::string remedy_for(int reason, const HostPort& address) {
  if (reason == EADDRNOTAVAIL) {
    const auto own = addresses_of_this_machine();
    return compose("this machine has no address ", address.host, own.empty() ? "" : "; it has ", enumerate(own),
                   ". Choose one of its own with --listen, or 0.0.0.0 for all.");
  }
  if (reason == EACCES) return "this user may not. Choose a port of 1024 or more with --listen.";
  return compose(std::strerror(reason), ". Choose another port with --listen, or end the program that holds it.");
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  HostPort address;
  std::string_view host = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const bool is_no_host = host.find_first_of("[]*") != std::string_view::npos;  // half a bracket, or a pattern
  if (host.empty() || is_no_host || port.empty() || parsed.ec != std::errc() ||
      parsed.ptr != port.data() + port.size()) {
    return fail(Error::kUsage, compose("'", text, "' is not an address; HOST:PORT was expected, e.g. 10.0.0.1:7000."));
  }
  address.host = std::string(host);
  return address;
}

std::string host_port_text(const HostPort& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return is_v6 ? compose('[', address.host, "]:", address.port) : compose(address.host, ':', address.port);
}

Result<HostPort> with_port_after(const HostPort& address, std::uint32_t distance) {
  if (address.port == 0) return address;
  const std::uint64_t port = std::uint64_t{address.port} + distance;
  if (port <= std::numeric_limits<std::uint16_t>::max()) {
    return HostPort{address.host, static_cast<std::uint16_t>(port)};
  }
  return fail(Error::kUsage, compose("--listen ", host_port_text(address), ": there is no port ", port,
                                     ", which is needed, too; choose a lower one."));
}

bool is_every_interface(const HostPort& address) {
  return address.host.empty() || address.host == "0.0.0.0" || address.host == "::";
}

HostPort reachable(HostPort address) {
  if (!is_every_interface(address)) return address;
  address.host = host_name();
  return address;
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Socket> dial(const HostPort& address, Deadline deadline) {
  auto list = resolve(address, SOCK_STREAM, 0);
  if (!list.ok()) return list.failure();
  int reason = EHOSTUNREACH;
  for (const addrinfo* target = list->get(); target != nullptr; target = target->ai_next) {
    Socket socket = connect_to(*target, deadline);
    if (socket.is_open()) return socket;
    reason = errno;
  }
  return fail(Error::kUnreachable,
              compose("Nobody answers at ", host_port_text(address), ": ", std::strerror(reason), "."));
}

bool refuses(const HostPort& address, Deadline deadline) {
  auto list = resolve(address, SOCK_STREAM, AI_NUMERICHOST);
  if (!list.ok()) return false;
  for (const addrinfo* target = list->get(); target != nullptr; target = target->ai_next) {
    if (connect_to(*target, deadline).is_open() || errno != ECONNREFUSED) return false;
  }
  return true;
}

Result<Socket> listen_on(const HostPort& address) {
  auto list = resolve(address, SOCK_STREAM, AI_PASSIVE);
  if (!list.ok()) return fail(Error::kUsage, list.failure().message);
  Socket socket = listen_at_any(**list);
  if (socket.is_open()) return socket;
  const std::string remedy = remedy_for(errno, address);
  return fail(Error::kUsage, compose("Cannot listen on ", host_port_text(address), ": ", remedy));
}

bool is_taken(const HostPort& address) {
  const auto list = resolve(address, SOCK_STREAM, AI_PASSIVE);
  return list.ok() && !listen_at_any(**list).is_open() && errno == EADDRINUSE;
}

bool wait_readable(int descriptor, Deadline deadline) { return wait_for(descriptor, POLLIN, deadline); }
bool wait_writable(int descriptor, Deadline deadline) { return wait_for(descriptor, POLLOUT, deadline); }

std::string peer_address(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::string();
  return numeric_host(address, size);
}

std::uint16_t local_port(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return port_of(address);
}

std::string peer_end(int descriptor) { return numeric_end(descriptor, ::getpeername); }

std::string local_end(int descriptor) { return numeric_end(descriptor, ::getsockname); }

Result<std::string> local_address_towards(const HostPort& address) {
  auto list = resolve(address, SOCK_DGRAM, 0);
  if (!list.ok()) return list.failure();
  for (const addrinfo* target = list->get(); target != nullptr; target = target->ai_next) {
    const Socket socket(::socket(target->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, target->ai_protocol));
    if (!socket.is_open() || ::connect(socket.descriptor(), target->ai_addr, target->ai_addrlen) != 0) continue;
    sockaddr_storage local{};
    socklen_t size = sizeof local;
    if (::getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&local), &size) != 0) continue;
    std::string host = numeric_host(local, size);
    if (!host.empty()) return host;
  }
  return fail(Error::kUnreachable, compose("This machine has no route to ", host_port_text(address), "."));
}

std::string host_name() {
  char host[HOST_NAME_MAX + 1] = {};
  ::gethostname(host, HOST_NAME_MAX);
  return host;
}

std::vector<std::string> addresses_of(const std::string& host) {
  std::vector<std::string> found;
  const auto list = resolve({host, 0}, SOCK_STREAM, AI_PASSIVE);
  if (!list) return found;
  for (const addrinfo* entry = list->get(); entry != nullptr; entry = entry->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, entry->ai_addr, entry->ai_addrlen);
    found.push_back(numeric_host(address, entry->ai_addrlen));
  }
  return found;
}

std::vector<std::string> addresses_of_this_machine() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const bool is_v4 = entry->ifa_addr->sa_family == AF_INET;
    if (!is_v4 && entry->ifa_addr->sa_family != AF_INET6) continue;
    const socklen_t size = is_v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    sockaddr_storage address{};
    std::memcpy(&address, entry->ifa_addr, size);
    const std::string host = numeric_host(address, size);
    if (!host.empty() && host.find('%') == std::string::npos) found.push_back(host);
  }
  ::freeifaddrs(list);
  return found;
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

}  // namespace shoal
