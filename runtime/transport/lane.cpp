// A lane over whatever carries frames.
#include "runtime/transport/lane.h"

#include "runtime/transport/assembly.h"

namespace shoal {

LaneOutcome FrameLane::send(const EncodedLetter& letter) {
  cut(letter, ++transfers_, put_);
  return LaneOutcome::kTaken;
}

}  // namespace shoal
