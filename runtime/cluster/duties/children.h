// Starts the actors of the supervisor's own process, a sync group for each stage and the data loader, and starts again
// what ended.
//
//   a child ends ──its budget has one left──▶ started again
//                ──none is left──▶ one level up (DESIGN.md §7): this process ends, its keeper starts it again from the
//                journal. Nobody else ends: the nodes keep what they have of the step and come back to the next term.
#pragma once

#include <map>
#include <string>

#include "runtime/cluster/number_block.h"
#include "runtime/cluster/restart_budget.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class ChildrenDuty {
 public:
  ChildrenDuty(const Truth& truth, ReservedNumbers& numbers) : truth_(truth), numbers_(numbers) {}

  [[nodiscard]] Answers on(const TrainingBegins& begins, Instant now);
  [[nodiscard]] Answers on(const GroupEnded& ended, Instant now);
  [[nodiscard]] Answers on(const DataLoaderEnded& ended, Instant now);

 private:
  void start_group(StageId stage, Answers& answers);
  void start_data_loader(Answers& answers);
  // True when the child is started again; otherwise this process hands over.
  [[nodiscard]] bool may_restart(const std::string& child, const std::string& reason, Instant now, Answers& answers);

  const Truth& truth_;
  ReservedNumbers& numbers_;
  std::map<std::string, RestartBudget> restarts_;  // of each child, by its name
};

}  // namespace shoal
