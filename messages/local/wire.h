// Letters as bytes, as routers get them from each other and from their lanes.
//
// WireFrame is the single type that CAF itself serialises. What comes over a lane never passes through CAF's wire.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "messages/codec.h"

namespace shoal {

// Carries one frame of a lane between routers (runtime/transport/assembly.h).
struct WireFrame {
  std::vector<char> bytes;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& inspector, WireFrame& frame) {
  return inspector(caf::meta::type_name("WireFrame"), frame.bytes);
}

// Sent by the lanes to their router (runtime/transport/lanes): a letter that came over a link's lane.
struct LaneLetter {
  std::uint64_t link = 0;
  EncodedLetter letter;
  std::chrono::nanoseconds took{};                // first frame to last
  std::shared_ptr<const void> receipt = nullptr;  // goes when the letter was looked at: more may come then
};

// Part of a letter that takes its time on a link's lane: its tensors have their sizes and not yet their contents.
struct LaneProgress {
  std::uint64_t link = 0;
  EncodedLetter letter;
  std::uint64_t received = 0;       // bytes
  std::chrono::nanoseconds took{};  // since its first frame
};

struct LaneChange {
  enum class Kind : std::uint8_t {
    kUp,
    kRoom,  // frames that it did not take may be offered again
    kLost,
    kEndedByPeer,  // in order: the peer knows
  };
  std::uint64_t link = 0;
  Kind kind = Kind::kUp;
  std::string reason{};
};

}  // namespace shoal
