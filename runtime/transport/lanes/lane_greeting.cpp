// Numbers in network byte order, and two addresses as one number.
#include "runtime/transport/lanes/lane_greeting.h"

#include <algorithm>

#include <xxhash.h>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

void append_be64(std::string& to, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) to.push_back(static_cast<char>(value >> shift & 0xFFU));
}

[[nodiscard]] std::uint64_t be64_in(std::span<const char> bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes.first(8)) value = value << 8U | static_cast<std::uint8_t>(byte);
  return value;
}

}  // namespace

std::string encoded(const LaneClaim& claim) {
  std::string bytes;
  append_be64(bytes, claim.key);
  append_be64(bytes, claim.way);
  return bytes;
}

LaneClaim claim_in(std::span<const char, kLaneClaimBytes> bytes) { return {be64_in(bytes), be64_in(bytes.subspan(8))}; }

std::string encoded(const LaneAnswer& answer) {
  ENSURE(answer.door.empty() || answer.door.size() == kLocalDoorNameBytes, "names of local doors are of one length");
  std::string bytes;
  append_be64(bytes, answer.key);
  bytes += answer.door;
  bytes.resize(kLaneAnswerBytes, '\0');
  return bytes;
}

LaneAnswer answer_in(std::span<const char, kLaneAnswerBytes> bytes) {
  const auto name = bytes.subspan(8);
  LaneAnswer answer{be64_in(bytes), {}};
  const bool has_door = std::any_of(name.begin(), name.end(), [](char byte) { return byte != '\0'; });
  if (has_door) answer.door.assign(name.begin(), name.end());
  return answer;
}

std::uint64_t way_between(const std::string& dialler, const std::string& accepted) {
  const std::string way = compose(dialler, " > ", accepted);
  return XXH3_64bits(way.data(), way.size()) | 1U;
}

std::uint64_t way_from_dialled(int descriptor) {
  const std::string here = local_end(descriptor);
  const std::string there = peer_end(descriptor);
  return here.empty() || there.empty() ? 0 : way_between(here, there);
}

std::uint64_t way_to_accepted(int descriptor) {
  const std::string here = local_end(descriptor);
  const std::string there = peer_end(descriptor);
  return here.empty() || there.empty() ? 0 : way_between(there, here);
}

}  // namespace shoal
