// The purposes of connections to a process's one port. A client names it in its first TLS message (ALPN), and the port
// decides by that alone who takes the connection over and whether it must show a certificate.
//
//   shoal-control   the control endpoint; the certificate is optional, and without one only enrolment is open
//   shoal-link      the actor library's connection; a certificate of the run is demanded
//   shoal-lane      tensors; a certificate of the run is demanded
//
// A client that names none of these, or nothing, asks for the control endpoint: a node of another version hears there
// which version is spoken, and any HTTPS client is answered. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shoal {

enum class PortProtocol : std::uint8_t { kControl, kLink, kLane };

// Returns its name in ALPN.
[[nodiscard]] std::string_view protocol_name(PortProtocol protocol);
// A list of this name alone, as ALPN writes it: the length, the name. Lives for ever.
[[nodiscard]] std::span<const unsigned char> protocol_list(PortProtocol protocol);
// Nothing: no protocol of ours.
[[nodiscard]] std::optional<PortProtocol> protocol_named(std::string_view name);
// The first protocol of ours in the body of a hello's ALPN extension, be16 length and then names; kControl where none
// is. Nothing: it is malformed.
[[nodiscard]] std::optional<PortProtocol> protocol_asked_for(std::span<const unsigned char> extension);

}  // namespace shoal
