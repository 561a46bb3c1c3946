// A person asks for a checkpoint now, and how far it is.
//
//   control ──SaveRequest──▶ supervisor ──SaveAnswer──▶ control           (in the spawner process)
//
// The answer names the goal: the state that is saved next. Asked again with that goal, as often as one likes, the
// supervisor says how far it is. A goal is all that is known of a request, so it outlives a restart of the spawner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/operate.h"

namespace shoal {

// The state after so many steps of a branch, or a later one.
struct SaveGoal {
  std::uint64_t step = 0;
  Branch branch;
  friend bool operator==(const SaveGoal&, const SaveGoal&) = default;
};

struct SaveRequest {
  std::string reason;            // says who asks: "shoal checkpoint"
  std::optional<SaveGoal> goal;  // of an earlier answer; none: the newest state
};

enum class SaveStage : std::uint8_t { kOrdered, kSaved, kFailed };

struct SaveAnswer {
  OperatorVerdict verdict = OperatorVerdict::kRefused;
  SaveGoal goal;  // its step is that of the checkpoint itself once one is saved
  SaveStage stage = SaveStage::kOrdered;
  std::string text;  // says what will be or is done, or why not
};

}  // namespace shoal
