// `shoal plan`: what a configuration needs and brings, before anything is rented.
// runtime/plan/resources decides what is planned and how it is told.
#pragma once

#include "launch/commands/inspect/inspect.h"
#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/plan/resources/run_plan.h"

namespace shoal {

struct PlanOptions {
  PlanOrder order;
  OutputForm form = OutputForm::kText;
  std::string warning;  // for the person; empty: nothing to say
};

// Reads the run's files where --run names one.
[[nodiscard]] Result<PlanOptions> plan_options(const Options& options);
[[nodiscard]] Result<int> run_plan(const PlanOptions& options);

}  // namespace shoal
