// A letter of the step protocol as a trace shows it: what kind it is, what it is about, which process sent it.
//
// A trace has no contents of letters. What a letter must have said follows from the state of who sent it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/cause.h"
#include "messages/ids.h"
#include "messages/sync.h"
#include "runtime/trace/event.h"

namespace shoal::observed {

enum class Kind : std::uint8_t {
  kForward,
  kBackward,
  kAsk,
  kAskAnswer,
  kRefusal,
  kOpen,
  kZero,
  kPrepare,
  kReduce,
  kPart,
  kManifest,
  kReduced,
  kMissing,
  kPrepared,
  kStepSum,
  kOther,
};

// The order that a letter belongs to. A trace names the counter of its epoch; who said it, or whoever can have, is
// added by the groups.
struct OrderName {
  Epoch epoch;
  Epoch last_zero;            // of that group in that step, before it (P-16b)
  std::uint32_t members = 0;  // that it was said to
  friend auto operator<=>(const OrderName&, const OrderName&) = default;
};

struct Letter {
  Kind kind = Kind::kOther;
  Cause cause;
  Incarnation subject;           // whom it is for, or of a letter to the spawner whom it is of
  ProcessIncarnation from;       // who sent it
  std::optional<RoundId> round;  // none: a step
  std::string reason;            // of a refusal, of an answer to an Ask
  bool is_evaluation = false;
  std::uint64_t span = 0;
  std::vector<OrderName> orders;

  [[nodiscard]] StageId stage() const { return StageId{cause.hop}; }
};

// From a kSend, kReceive, kDrop or kPhase event.
[[nodiscard]] Letter letter_of(const TraceEvent& event);

// "Prepare of epoch counter 3 of step 7", "Forward of step 7 microbatch 2".
[[nodiscard]] std::string text_of(const Letter& letter);

}  // namespace shoal::observed
