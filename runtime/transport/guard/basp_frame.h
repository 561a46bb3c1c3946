// The frames of the actor library's wire protocol (BASP of 0.17) that processes of a run send each other, byte for
// byte.
//
//   frame  = header payload
//   header = u8 operation, u16 padding 0, u8 flags, be32 length, be64 data, source, dest
//   node   = be64 "default", be32 process number, 20 bytes of host; the last two are not all zero
//   string = length, bytes      length = 7 bits per byte, lowest first, as few bytes as it takes
//
//   operation | flags  | data  | source | dest  | payload
//   0 server  | 0      | 3     | 0      | 0     | node, names of applications, be64 actor, names of its messages
//   1 client  | 0 or 2 | 0     | 0      | 0     | node
//   2 direct  | 0      | async | actor  | actor | no stages, the type list of a letter's frame, length, its bytes
//   3 routed  |        |       |        |       | for a third process
//   4 monitor | 0      | 0     | 0      | actor | node that watches, node that is watched
//   5 down    | 0      | 0     | actor  | 0     | node it was of, node that watched, u8 code, be64 category, no context
//   6 beat    | 0      | 0     | 0      | 0     | none
//
// By itself the library asks each new peer for its "info" (spawn servers, which nobody here has): those questions and
// their answers are known, too, as kInfo. Everything is checked against the bytes that are there; nothing is allocated.
// Pure. The tests compare it with frames that the library itself has written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace shoal::basp {

using Bytes = std::span<const unsigned char>;

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kNodeBytes = 32;
using Node = std::array<unsigned char, kNodeBytes>;  // as it is written

enum class Operation : std::uint8_t {
  kServerHandshake = 0,
  kClientHandshake = 1,
  kDirectMessage = 2,
  kRoutedMessage = 3,
  kMonitor = 4,
  kDown = 5,
  kHeartbeat = 6,
};

// Values of a header's flags.
inline constexpr std::uint8_t kNamedReceiver = 1;     // a direct message whose `destination` is a name
inline constexpr std::uint8_t kSelectConnection = 2;  // a client's second handshake

struct Header {
  std::uint8_t operation = 0;
  std::uint16_t padding = 0;
  std::uint8_t flags = 0;
  std::uint32_t length = 0;  // bytes of the payload
  std::uint64_t data = 0;
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
};

// Bounds of what an honest peer says (S-6).
inline constexpr std::size_t kServerHandshakeBytesMax = 64u << 10;
inline constexpr std::size_t kApplicationNamesMax = 4;
inline constexpr std::size_t kMessageNamesMax = 128;
inline constexpr std::size_t kNameBytesMax = 1024;
inline constexpr std::size_t kInfoBytesMax = 1024;  // the library's questions and answers about spawn servers
inline constexpr std::size_t kDownBytesMax = 4096;  // with a text as its context

[[nodiscard]] Header header_in(std::span<const unsigned char, kHeaderBytes> bytes);
// True when some honest peer may send such a header, whatever its connection has seen so far. The bound on letters is
// their frames'.
[[nodiscard]] bool is_header_of_ours(const Header& header, std::uint32_t letter_bytes_max);
// The longest payload of a frame with such a header; 0: it has none.
[[nodiscard]] std::uint32_t length_max(const Header& header, std::uint32_t letter_bytes_max);

// Reads a node of the library's own kind that names a process, at the beginning of these bytes.
[[nodiscard]] std::optional<Node> node_in(Bytes bytes);
// The node that greets. Nothing: its handshake is malformed.
[[nodiscard]] std::optional<Node> greeting_of_server(Bytes payload);
[[nodiscard]] std::optional<Node> greeting_of_client(Bytes payload);

enum class Message { kLetter, kInfo, kOther };
// Tells what a direct message with this header carries.
[[nodiscard]] Message message_in(const Header& header, Bytes payload);

// True when it says that `watcher` watches an actor of `watched`.
[[nodiscard]] bool is_monitor(Bytes payload, const Node& watcher, const Node& watched);

enum class Down { kWithoutContext, kWithContext, kOther };
// Tells whether it says to `watcher` that an actor of `owner` has ended. A context is anything: only the library could
// read it, and must not.
[[nodiscard]] Down down_in(Bytes payload, const Node& owner, const Node& watcher);

}  // namespace shoal::basp
