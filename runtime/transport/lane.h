// A lane carries letters with their tensors to one peer, in order.
//
// send() either takes the whole letter or says that the lane is full: then the router keeps it in its bounded queue and
// offers it again (S-6). A lane that breaks loses what it had taken; the protocol's retries cover that.
// FrameLane cuts letters into frames (assembly.h) and hands them to whatever carries frames: here CAF messages of one
// frame each, whose connection takes everything, so that the credits of the pipeline bound what lies in it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "messages/codec.h"

namespace shoal {

enum class LaneOutcome : std::uint8_t { kTaken, kFull };

class Lane {
 public:
  virtual ~Lane() = default;
  [[nodiscard]] virtual LaneOutcome send(const EncodedLetter& letter) = 0;
};

class FrameLane final : public Lane {
 public:
  using PutFrame = std::function<void(std::vector<char>)>;

  explicit FrameLane(PutFrame put) : put_(std::move(put)) {}
  [[nodiscard]] LaneOutcome send(const EncodedLetter& letter) override;

 private:
  PutFrame put_;
  std::uint64_t transfers_ = 0;
};

}  // namespace shoal
