// Chooses the worker for a slot by what machines give, too (P-25c): of those that the stage fits, and of unequal ones a
// fast one. Pure, says why.
//
// Narrows the question of plan_replacement() to the workers and stages that come into question, and asks it: a stage
// that fits nobody who is free is passed by; whoever served the slot before is not passed over; where machines are
// unequal the weakest comes first of stages that lack equally many, and growth beyond that goes to the weakest. Equal
// machines, and those that state nothing, get the answer of plan_replacement() alone.
#pragma once

#include <vector>

#include "runtime/cluster/balance/machine_places.h"
#include "runtime/cluster/recovery/replacement.h"

namespace shoal {

// What serves each stage now.
struct ServedStage {
  StageNeed need;
  std::vector<MachineOffer> offers;
};

struct FittingQuestion {
  ReplacementQuestion question;
  std::vector<ServedStage> stages;  // empty: nothing is known
  std::uint32_t threads = 1;        // the run's
};

// Nothing: no stage lacks anybody that it fits, or nobody is free.
[[nodiscard]] std::optional<Replacement> plan_fitting_replacement(const FittingQuestion& asked);

}  // namespace shoal
