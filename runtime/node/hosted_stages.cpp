// A replica that hangs cannot be ended, for its thread does not come back: the process is given up.
#include "runtime/node/hosted_stages.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/log.h"

namespace shoal {

std::string stage_name(const SpawnStage& order) { return compose("stage/", order.stage, "/", order.slot); }

NodeEffects HostedStages::spawn(const SpawnStage& order) {
  if (running_.contains(order.replica)) return {};
  if (order.replica <= newest_) return {report_end(order, "it has ended")};
  NodeEffects stops;
  for (const auto& [replica, stage] : running_) {
    if (stage.branch < order.branch) stops.emplace_back(StopStage{replica, std::nullopt});
  }
  if (!stops.empty()) {
    await(order);
    return stops;
  }
  log_info("node_agent", "starting ", stage_name(order), " as incarnation ", order.replica);
  newest_ = order.replica;
  return {StartStage{order}};
}

// Once; what waits for an earlier branch than this one comes too late.
void HostedStages::await(const SpawnStage& order) {
  std::erase_if(next_,
                [&](const SpawnStage& other) { return other.branch < order.branch || other.replica == order.replica; });
  next_.push_back(order);
  std::ranges::sort(next_, {}, &SpawnStage::replica);
}

// Said again with every start of a stage: while the supervisor does not know of the crash, nobody believes that this
// process speaks of a replica that was another's.
NodeEffects HostedStages::started(const SpawnStage& order, RunId run) {
  running_.emplace(order.replica, order);
  return report_left_behind(run);
}

NodeEffects HostedStages::end(const EndStage& order) {
  std::erase_if(next_, [&](const SpawnStage& next) { return next.replica == order.replica; });
  const auto found = running_.find(order.replica);
  if (found == running_.end()) return {};
  log_info("node_agent", "ending ", stage_name(found->second), ": ", order.reason);
  return {StopStage{order.replica, order.reason}};
}

std::optional<SpawnStage> HostedStages::down(Incarnation replica) {
  const auto found = running_.find(replica);
  if (found == running_.end()) return std::nullopt;
  const SpawnStage order = found->second;
  running_.erase(found);
  hangs_.forget(replica);
  return order;
}

NodeEffects HostedStages::ask(Instant now) {
  NodeEffects questions;
  for (const auto& [replica, order] : running_) {
    if (hangs_.asks(replica, now)) questions.emplace_back(AskStage{replica});
  }
  return questions;
}

std::optional<HungStage> HostedStages::find_hung(Duration least, Instant now) {
  const auto hang = hangs_.find(least, now);
  if (!hang) return std::nullopt;
  const auto found = running_.find(hang->replica);
  if (found == running_.end()) return std::nullopt;
  return HungStage{found->second, compose("it hangs: at one piece of work for ", milliseconds(hang->busy),
                                          " ms, the longest before took ", milliseconds(hang->longest), " ms")};
}

NodeEffect HostedStages::report_end(const SpawnStage& order, const std::string& reason) {
  StageEnded ended{order.stage, order.replica, reason, {}};
  if (const auto work = note_->take(order.replica)) ended.computing = ComputedMicrobatch{work->step, work->microbatch};
  return TellSupervisor{std::move(ended)};
}

NodeEffects HostedStages::report_left_behind(RunId run) const {
  NodeEffects reports;
  for (const NotedWork& work : note_->left_behind()) {
    if (work.run != run) continue;
    reports.emplace_back(TellSupervisor{
        StageEnded{work.stage, work.replica, "its process crashed", ComputedMicrobatch{work.step, work.microbatch}}});
  }
  return reports;
}

std::vector<ServedReplica> HostedStages::served() const {
  std::vector<ServedReplica> all;
  for (const auto& [replica, stage] : running_) {
    all.push_back({stage.stage, stage.slot, replica, stage.branch, stage.version});
  }
  return all;
}

}  // namespace shoal
