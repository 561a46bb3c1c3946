// Each has a budget of its own: what lets all of them end together, a moment without the processor for example, costs
// each one restart, however many stages there are.
#include "runtime/cluster/duties/children.h"

#include <algorithm>

#include "runtime/base/bound.h"
#include "runtime/base/compose.h"

namespace shoal {

namespace {

const Bound kRestartsMax{"supervision.restarts_of_children", 10};

[[nodiscard]] std::size_t budget_of(const SupervisorConfig& config) {
  return std::max<std::size_t>(kRestartsMax, config.restart_budget);
}

}  // namespace

// The members are in the journal, or asked for.
Answers ChildrenDuty::on(const TrainingBegins& /*begins*/, Instant /*now*/) {
  Answers answers;
  for (std::uint32_t stage = 0; stage < truth_.config.stages; ++stage) start_group(StageId{stage}, answers);
  start_data_loader(answers);
  return answers;
}

Answers ChildrenDuty::on(const GroupEnded& ended, Instant now) {
  Answers answers;
  if (!truth_.is_training() || ended.group != truth_.view().members().group_of(ended.stage)) return answers;
  const std::string child = compose("sync_group/", ended.stage);
  if (may_restart(child, ended.reason, now, answers)) start_group(ended.stage, answers);
  return answers;
}

Answers ChildrenDuty::on(const DataLoaderEnded& ended, Instant now) {
  Answers answers;
  if (!truth_.is_training()) return answers;
  if (may_restart("data_loader", ended.reason, now, answers)) start_data_loader(answers);
  return answers;
}

void ChildrenDuty::start_group(StageId stage, Answers& answers) {
  const Incarnation group = numbers_.take_actor();
  answers.append(AppointGroup{stage, group});
  answers.perform(StartGroup{stage, group});
}

void ChildrenDuty::start_data_loader(Answers& answers) {
  answers.perform(StartDataLoader{numbers_.take_actor()});
  if (!truth_.roster.leaving().empty()) answers.perform(AvoidReplicas{truth_.roster.leaving()});
}

bool ChildrenDuty::may_restart(const std::string& child, const std::string& reason, Instant now, Answers& answers) {
  answers.announce(RunEventKind::kRestarted, child, reason);
  RestartBudget& budget =
      restarts_.try_emplace(child, budget_of(truth_.config), truth_.config.restart_window).first->second;
  if (!kRestartsMax.reached_if(!budget.spend(now))) return true;
  const auto window = std::chrono::duration_cast<std::chrono::seconds>(truth_.config.restart_window).count();
  const std::string why =
      compose(child, " ended more than ", budget_of(truth_.config), " times within ", window, " s, the last: ", reason);
  answers.announce(RunEventKind::kEscalated, child, why + "; the spawner's process starts again");
  answers.tell(HandsOver{why});
  return false;
}

}  // namespace shoal
