// Greeting of a lane, by which two processes of one machine come to a shorter way than TLS.
//
//   the dialler ──claim: be64 key  be64 way──▶ the other side      way 0: this connection shall be the lane
//               ◀─answer: be64 key  name[32]──                     no name: it is; a name: come to that local door
//
// The key is the secret that the accepting side gave over the link. A way is what both ends of a connection look like:
// where they agree on it there is nothing between them, no proxy and no translated address, and the connection may be
// one within this machine. Then the accepting side names its local door; a dialler that finds none claims again, way 0,
// over the same connection. A connection that came to the local door claims with the same key. Pure, but for asking
// the system for the two addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace shoal {

struct LaneClaim {
  std::uint64_t key = 0;
  std::uint64_t way = 0;
  friend bool operator==(const LaneClaim&, const LaneClaim&) = default;
};

struct LaneAnswer {
  std::uint64_t key = 0;
  std::string door;  // empty: this connection is the lane
  friend bool operator==(const LaneAnswer&, const LaneAnswer&) = default;
};

inline constexpr std::size_t kLocalDoorNameBytes = 32;
inline constexpr std::size_t kLaneClaimBytes = 16;
inline constexpr std::size_t kLaneAnswerBytes = 8 + kLocalDoorNameBytes;

[[nodiscard]] std::string encoded(const LaneClaim& claim);
[[nodiscard]] LaneClaim claim_in(std::span<const char, kLaneClaimBytes> bytes);
// A door's name has kLocalDoorNameBytes, or there is none.
[[nodiscard]] std::string encoded(const LaneAnswer& answer);
[[nodiscard]] LaneAnswer answer_in(std::span<const char, kLaneAnswerBytes> bytes);

// Returns the way from the end at `dialler` to the one at `accepted`, each a numeric address and port. Never 0.
[[nodiscard]] std::uint64_t way_between(const std::string& dialler, const std::string& accepted);
// Returns the way as this end sees it, for a connection that it dialled, or accepted. 0: the system has no addresses.
[[nodiscard]] std::uint64_t way_from_dialled(int descriptor);
[[nodiscard]] std::uint64_t way_to_accepted(int descriptor);

}  // namespace shoal
