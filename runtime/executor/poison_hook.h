// A hook of tests: the microbatch at which every replica that computes it fails, the fault that a quarantine is for.
//
// Set by the environment variable SHOAL_POISON = HOW:STEP/MB/STAGE, which workers inherit from the command that starts
// a run; only tests set it. HOW is `throw` (the stage's actor ends) or `abort` (its process does). In a run of
// one process (`--single`) the microbatch is left out instead: a run that quarantined it has the same result,
// bit for bit in exact mode. The command that starts a run or a node refuses words that it cannot read: every worker
// would refuse them, again at each start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/ids.h"
#include "runtime/base/error.h"

namespace shoal {

struct Poison {
  enum class How : std::uint8_t { kThrow, kAbort };
  How how = How::kThrow;
  StepId step;
  MicrobatchId microbatch;
  StageId stage;
  friend bool operator==(const Poison&, const Poison&) = default;
};

// Errors: kUsage with what was expected.
[[nodiscard]] Result<Poison> parse_poison(const std::string& text);
// Nothing: the variable is not set.
[[nodiscard]] Result<std::optional<Poison>> poison_from_environment();

}  // namespace shoal
