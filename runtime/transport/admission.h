// Admission to a port: bounds on connections that have not shown who they are, and on what we write about refusals.
//
// A stranger can open as many sockets as it likes; what they cost here is bounded in all and per address, and ends at
// a deadline (S-6, S-7). Nor do they keep others out: where a bound is reached, the oldest gives way to the newcomer.
// An honest peer is done with its handshake long before as many others have come. Pure: time comes in. Not
// thread-safe; owners lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/transport/port_protocol.h"

namespace shoal {

struct AdmissionLimits {
  std::size_t half_open_count_max = 64;
  std::size_t half_open_per_address_max = 32;
  std::chrono::milliseconds handshake_timeout{5000};
};

// Connections between accept (or dial) and the end of their handshake. Keys are descriptors.
class HalfOpenTable {
 public:
  explicit HalfOpenTable(AdmissionLimits limits) : limits_(limits) {}

  struct Entry {
    std::string address;  // empty: outgoing
    Instant since;
  };

  // Records an incoming connection. Returns the one that has given way to it, for the caller to close: where its own
  // address has as many as it may, the oldest of them; else, where all have, the oldest of the address that has most.
  // So a stranger with few addresses takes places from itself alone.
  [[nodiscard]] std::optional<int> enter(int descriptor, const Entry& incoming);
  // A connection of our own making: has a deadline, is not counted against strangers.
  void track_outgoing(int descriptor, Instant now);
  // Handshake finished or connection closed. Unknown descriptors are ignored.
  void settle(int descriptor);
  // Settles a descriptor, and tells what was known of it.
  [[nodiscard]] std::optional<Entry> take(int descriptor);
  // Descriptors whose handshake has outlived its deadline, oldest first. They stay until settled.
  [[nodiscard]] std::vector<int> expired(Instant now) const;
  [[nodiscard]] std::size_t incoming_count() const { return incoming_count_; }

 private:
  [[nodiscard]] std::optional<int> who_gives_way(const std::string& address) const;
  [[nodiscard]] std::size_t count_of(const std::string& address) const;

  AdmissionLimits limits_;
  std::map<int, Entry> entries_;
  std::map<std::string, std::size_t> count_of_address_;
  std::size_t incoming_count_ = 0;
};

// The half-open connections of one port, with bounds of their own for each kind, so that strangers of one kind keep
// nobody of another out: those whose first message has not come as a whole, those that asked for a link, those that
// asked for a lane. Connections to the control endpoint are counted there.
class PortAdmission {
 public:
  explicit PortAdmission(AdmissionLimits limits) : silent_(limits), links_(limits), lanes_(limits) {}

  // A connection was accepted. Returns who has given way to it, as HalfOpenTable does.
  [[nodiscard]] std::optional<int> arrived(int descriptor, const std::string& address, Instant now);
  // The first message of a connection has come, and asks for a link or a lane; its deadline stays that of its arrival.
  // Returns who has given way to it. A connection that has itself given way is not recorded again.
  [[nodiscard]] std::optional<int> said_hello(int descriptor, PortProtocol protocol);
  // Works as in HalfOpenTable; a connection of our own making is a link.
  void track_outgoing(int descriptor, Instant now) { links_.track_outgoing(descriptor, now); }
  void settle(int descriptor);
  [[nodiscard]] std::vector<int> expired(Instant now) const;

 private:
  HalfOpenTable silent_;
  HalfOpenTable links_;
  HalfOpenTable lanes_;
};

// Decides which refusals become log lines: the first kLinesPerWindow of each window, then only their count.
class RefusalLog {
 public:
  static constexpr std::uint64_t kLinesPerWindow = 10;
  static constexpr std::chrono::seconds kWindow{10};

  struct Line {
    bool write = false;
    std::uint64_t left_out = 0;  // refusals of earlier windows that got no line
  };
  [[nodiscard]] Line refused(Instant now);
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  Instant window_start_{};
  std::uint64_t in_window_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t total_ = 0;
};

// Writes the lines that it decided on. refusal: what was refused, to whom and why.
template <class... Parts>
void log_refusal(std::string_view who, const RefusalLog::Line& line, const Parts&... refusal) {
  if (line.left_out > 0) log_warn(who, line.left_out, " more refusals were not logged");
  if (line.write) log_warn(who, refusal...);
}

// Decides when a lack that is met again and again is told: when it begins, after a while without it.
class LackLog {
 public:
  static constexpr std::chrono::seconds kQuiet{60};

  // Returns whether it is to be told.
  [[nodiscard]] bool met(Instant now);

 private:
  std::optional<Instant> last_;
};

}  // namespace shoal
