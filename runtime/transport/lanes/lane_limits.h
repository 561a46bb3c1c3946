// Bounds and deadlines of lanes (S-6): how much one holds, how long a newcomer may take, when silence is an end.
// Whatever fails to open is tried again, ever more rarely, for as long as its link lives.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/transport/assembly.h"

namespace shoal {

struct LaneDialTimes {
  std::chrono::milliseconds dial{1500};
  std::chrono::milliseconds handshake{2500};  // to the other side's word that the lane is open
  std::chrono::milliseconds retry_first{250};
  std::chrono::milliseconds retry_last{10000};
};

struct LaneLimits {
  std::size_t queue_bytes_max = std::size_t{64} << 20;   // not yet sent, per lane; one letter more
  std::size_t unread_bytes_max = std::size_t{64} << 20;  // delivered, not yet looked at, per lane; one letter more
  std::size_t unclaimed_max = 64;                        // accepted, without a key so far
  std::chrono::milliseconds claim_timeout{5000};
  std::chrono::milliseconds silence_max{10000};  // sent bytes stay unacknowledged for so long: broken
  LaneDialTimes dial;
  AssemblyLimits assembly;
  std::uint64_t up_bit_s = 0;    // of all lanes together, `shoal node --limit-up`; 0: no limit
  std::uint64_t down_bit_s = 0;  // likewise, --limit-down
  bool takes_local_ways = true;  // within one machine, past TLS (local_door.h)
};

}  // namespace shoal
