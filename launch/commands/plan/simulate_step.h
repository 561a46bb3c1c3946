// `shoal simulate step`: how long a step takes on given machines and links, with the program's own paths and credits.
// runtime/plan/step decides what is simulated and how it is told.
#pragma once

#include "launch/commands/inspect/inspect.h"
#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/plan/step/step_scene.h"

namespace shoal {

struct SimulateStepOptions {
  StepScene scene;
  OutputForm form = OutputForm::kText;
  std::string warning;  // for the person; empty: nothing to say
};

[[nodiscard]] Result<SimulateStepOptions> simulate_step_options(const Options& options);
[[nodiscard]] Result<int> run_simulate_step(const SimulateStepOptions& options);

}  // namespace shoal
