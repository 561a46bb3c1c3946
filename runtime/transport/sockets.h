// TCP without the actor library: dial with a deadline, listen, and what an address looks like from here.
//
// Names are resolved anew at every dial: a spawner that moved is found again. All descriptors are non-blocking and
// close-on-exec. Every wait ends at a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::string_view kTransportLog = "transport";  // the name of sockets, streams and lanes in the log

using Deadline = std::chrono::steady_clock::time_point;
[[nodiscard]] inline Deadline deadline_in(std::chrono::milliseconds duration) { return steady_now() + duration; }

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};
// "127.0.0.1:4000", "[::1]:4000", "name:0". Errors: kUsage.
[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text);
[[nodiscard]] std::string host_port_text(const HostPort& address);
// The address with a later port. Port 0 stays 0: any. Errors: kUsage, there is no port of that number.
[[nodiscard]] Result<HostPort> with_port_after(const HostPort& address, std::uint32_t distance);
// Tells whether it stands for every interface of this machine, and is no address for others.
[[nodiscard]] bool is_every_interface(const HostPort& address);
// Returns what others are told of it: an address that listens everywhere is reached by this machine's name.
[[nodiscard]] HostPort reachable(HostPort address);

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

// Tries every address of the name, within the deadline in all. Errors: kUnreachable, naming address and reason.
[[nodiscard]] Result<Socket> dial(const HostPort& address, Deadline deadline);

// True when certainly nobody listens there: the machine answers and refuses. Silence and unknown names are no answer.
[[nodiscard]] bool refuses(const HostPort& address, Deadline deadline);

// Listens; port 0 takes any. An empty host is every interface. Errors: kUsage (in use, not ours), naming the address.
[[nodiscard]] Result<Socket> listen_on(const HostPort& address);
// Tells whether that fails now, and may not in a moment: another process has the port.
[[nodiscard]] bool is_taken(const HostPort& address);

// Waits until readable or writable. False at the deadline.
[[nodiscard]] bool wait_readable(int descriptor, Deadline deadline);
[[nodiscard]] bool wait_writable(int descriptor, Deadline deadline);

// The numeric address of the other end or of this end; empty when there is none.
[[nodiscard]] std::string peer_address(int descriptor);
[[nodiscard]] std::uint16_t local_port(int descriptor);
// The same with the port. Empty when there is none.
[[nodiscard]] std::string peer_end(int descriptor);
[[nodiscard]] std::string local_end(int descriptor);

// The numeric address by which this machine would reach `address`: what to advertise to others there. Sends nothing.
// Errors: kUnreachable (name unknown, no route).
[[nodiscard]] Result<std::string> local_address_towards(const HostPort& address);

// Returns the name that the system has for this machine; empty: it does not say.
[[nodiscard]] std::string host_name();
// The numeric addresses at which a listener of this name may listen, in the order in which they are tried. Empty:
// nobody knows the name.
[[nodiscard]] std::vector<std::string> addresses_of(const std::string& host);
// Lists those that others may be told of: without those of one link, which need an interface beside them.
[[nodiscard]] std::vector<std::string> addresses_of_this_machine();
// Tells of a numeric address whether this machine alone reaches it.
[[nodiscard]] bool is_loopback(std::string_view address);

}  // namespace shoal
