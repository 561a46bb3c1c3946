// An admitted peer that keeps no rules: a TLS session with a node's certificate, and any bytes after that. OpenSSL by
// hand, none of the project's own TLS code.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/certificates.h"
#include "runtime/transport/sockets.h"
#include "tests/support/guest/guest_frames.h"

namespace shoal::guest {

class Guest {
 public:
  // Connects and learns the peer's name, as a client of the library does. Nothing: it was not let in, or not in time.
  [[nodiscard]] static std::optional<Guest> enter(const HostPort& address, const TlsFiles& files,
                                                  std::chrono::milliseconds patience);
  ~Guest();
  Guest(Guest&&) noexcept;
  Guest& operator=(Guest&&) noexcept;

  [[nodiscard]] const Conversation& who() const { return who_; }
  // Under which name, from now on.
  void call_itself(std::string node) { who_.self = std::move(node); }
  // Greets as an honest client does. False: the connection is over.
  bool greet();
  bool say(std::string_view bytes);
  // True when the other side ends the connection within this time, whatever it says before that.
  [[nodiscard]] bool is_turned_out(std::chrono::milliseconds patience);

 private:
  struct Session;
  explicit Guest(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session_;
  Conversation who_;
};

// Orders so many bad frames with this certificate, most after a good greeting: a connection is used until it is ended,
// or for a few frames. Paced, where a rate is given.
struct AttackOrder {
  HostPort address;
  TlsFiles files;
  std::uint64_t seed = 0;
  std::uint64_t frames = 0;
  double frames_per_second = 0;  // 0: as fast as they go
  std::chrono::milliseconds patience{5000};
};
struct AttackReport {
  std::uint64_t said = 0;
  std::uint64_t connections = 0;
  std::uint64_t turned_away = 0;  // connections that did not come about
};
// Attacks until they are said, or `is_over` says so.
[[nodiscard]] AttackReport attack(const AttackOrder& order, const std::function<bool()>& is_over);

}  // namespace shoal::guest
