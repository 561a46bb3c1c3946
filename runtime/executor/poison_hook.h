// A hook of tests: the microbatch at which every replica that computes it fails, the fault that a quarantine is for.
//
// Set by the environment variable SHOAL_POISON = HOW:STEP/MB/STAGE[/REPLICA], which workers inherit from the command
// that starts a run; only tests set it. HOW is `throw` (the stage's actor ends), `abort` (its process does), or what a
// GPU is injured by: `address` (a kernel writes where it must not), `memory` (an allocation that cannot be had), `hang`
// (a kernel that does not end). With REPLICA, an incarnation, that replica alone fails, so a run of it loses nothing.
// Without, in a run of one process (`--single`) the microbatch is left out instead: a run that quarantined it has the
// same result, bit for bit in exact mode. The command that starts a run or a node refuses words that it cannot read:
// every worker would refuse them, again at each start.
//
// SHOAL_DEVICE_PATIENCE = SECONDS is another one: how long a job on a GPU may take before the GPU counts as hanging.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "messages/ids.h"
#include "runtime/base/error.h"
#include "runtime/executor/device_injury.h"

namespace shoal {

struct Poison {
  enum class How : std::uint8_t { kThrow, kAbort, kInjury };
  How how = How::kThrow;
  StepId step;
  MicrobatchId microbatch;
  StageId stage;
  std::optional<Incarnation> replica = std::nullopt;  // the only one that fails
  std::optional<DeviceInjury> injury = std::nullopt;  // of kInjury
  friend bool operator==(const Poison&, const Poison&) = default;
};

// Errors: kUsage with what was expected.
[[nodiscard]] Result<Poison> parse_poison(const std::string& text);
// Nothing: the variable is not set.
[[nodiscard]] Result<std::optional<Poison>> poison_from_environment();

// Errors: kUsage with what was expected. Nothing: the variable is not set.
[[nodiscard]] Result<std::optional<std::chrono::seconds>> device_patience_from_environment();

}  // namespace shoal
