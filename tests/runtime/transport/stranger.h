// A peer that keeps no rules: raw TCP and TLS clients for the doors of a run.
//
// Being admitted shows in one thing: the other side sends application data (the data door greets first).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/certificates.h"
#include "runtime/transport/port_protocol.h"
#include "runtime/transport/sockets.h"

namespace shoal::test_support {

// Reaction of the other side to a connection, within the time given.
enum class Outcome {
  kSpokeToUs,  // application data came: we were admitted
  kClosed,     // the other side ended the connection without any
  kWaits,      // neither
};

struct StrangerTls {
  const TlsFiles* files = nullptr;  // null: shows no certificate
  int version_max = 0;              // 0: the newest
  std::optional<PortProtocol> protocol = PortProtocol::kLink;
};

[[nodiscard]] Socket connect_raw(std::uint16_t port);
// Sends text as it is and waits for the end. TLS alerts are not application data.
[[nodiscard]] Outcome say_in_plaintext(std::uint16_t port, std::string_view text, std::chrono::milliseconds patience);
// Closes with a reset, in the middle of what it said.
void say_and_reset(std::uint16_t port, std::string_view text);
// Waits for the other side to end a connection that says nothing.
[[nodiscard]] bool is_closed_within(const Socket& socket, std::chrono::milliseconds patience);
// Shakes hands, without looking at the other's certificate.
[[nodiscard]] Outcome knock(std::uint16_t port, const StrangerTls& tls, std::chrono::milliseconds patience);
// The same; when admitted sends the bytes, and says how it ended.
[[nodiscard]] Outcome knock_and_say(std::uint16_t port, const StrangerTls& tls, std::string_view bytes,
                                    std::chrono::milliseconds patience);

// A certificate that is its own authority.
[[nodiscard]] TlsFiles self_signed(const std::string& folder, const PeerIdentity& identity);

}  // namespace shoal::test_support
