// `shoal plan`: what a configuration needs and brings, before anything is rented.
// runtime/plan/resources decides what is planned and how it is told.
#pragma once

#include <string>

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
// Says what --memory was compared with, and which stages a GPU of that memory would hold; empty: there was no --memory.
// A replica on a processor holds more of some things, and one on a GPU more of others.
[[nodiscard]] std::string memory_text(const PlanOrder& order, const RunPlan& plan);
[[nodiscard]] Result<int> run_plan(const PlanOptions& options);

}  // namespace shoal
