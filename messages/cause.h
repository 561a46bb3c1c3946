// Cause, which every message of the step protocol carries: the run it belongs to, and what brought it about.
//
// Nothing of an older term or branch changes state (S-4). `attempt` tells a router which of its questions an answer or
// a refusal is about (P-13); a replica decides nothing by it (P-9). `parent_span` serves the trace alone.
#pragma once

#include <cstdint>

#include "messages/ids.h"

namespace shoal {

// Checked at hello. Raise it with any change of a schema that an older node cannot read, or of what members compare.
inline constexpr std::uint32_t kProtocolVersion = 21;

struct Cause {
  RunId run;
  Branch branch;
  Term term;
  JournalPosition position;  // the sender's position in the journal
  StepId step;
  MicrobatchId microbatch;
  std::uint32_t attempt = 0;
  std::uint32_t hop = 0;  // index in the path of the replica this message is for (Forward) or from (Backward)
  std::uint64_t parent_span = 0;
  friend bool operator==(const Cause&, const Cause&) = default;
};

}  // namespace shoal
