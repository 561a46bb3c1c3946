// One pass over members and joiners.
#include "runtime/cluster/truth/stage_balance.h"

#include <algorithm>

namespace shoal {

double load_of(const Truth& truth, StageId stage) {
  const ProcessDirectory& processes = truth.roster.processes;
  const auto is_paced = [&](ProcessIncarnation process) {
    return processes.find(process)->join.device.starts_with("paced");
  };
  const auto& loads = truth.config.stage_loads;
  if (stage.value >= loads.size() || std::ranges::any_of(processes.alive(ProcessRole::kNode), is_paced)) return 1;
  return loads[stage.value];
}

std::vector<StageLoad> stage_balance(const Truth& truth) {
  const Roster& roster = truth.roster;
  std::vector<StageLoad> stages(truth.config.stages);
  const auto count = [&](StageId stage, Incarnation replica, ProcessIncarnation process) {
    if (stage.value >= stages.size()) return;
    BalancedReplica one;
    one.replica = replica;
    one.speed = truth.speeds.of(process);
    stages[stage.value].replicas.push_back(one);
  };
  for (std::uint32_t i = 0; i < truth.config.stages; ++i) {
    stages[i].load = load_of(truth, StageId{i});
    stages[i].keeps = std::max<std::size_t>(1, truth.config.quorum);
    for (const ReplicaMember& member : roster.live(StageId{i})) {
      if (!roster.goes(member)) count(StageId{i}, member.incarnation, member.process);
    }
  }
  const auto& joiners = truth.joins.joiners();
  for (const Joiner& joiner : joiners) count(joiner.order.stage, joiner.order.replica, joiner.process);
  const auto& mover = roster.mover;
  const auto is_mover = [&](const Joiner& joiner) { return joiner.process == mover->process; };
  const bool is_on_its_way = mover && roster.processes.is_alive(mover->process);
  if (is_on_its_way && std::ranges::none_of(joiners, is_mover)) count(mover->to, mover->replica, mover->process);
  return stages;
}

}  // namespace shoal
