// Asks the decision with the scene's speeds, and follows the mover from commit to commit.
#include "runtime/plan/step/step_moves.h"

#include <algorithm>

namespace shoal {
StepMoves::StepMoves(const StepScene& scene)
    : scene_(scene), members_(static_cast<std::size_t>(scene.config.pipeline.stages)) {
  for (std::size_t i = 0; i < scene.machines.size(); ++i) {
    members_.at(scene.machines[i].stage).push_back(i);
    stage_of_.push_back(scene.machines[i].stage);
  }
  served_since_s_.assign(scene.machines.size(), 0);
  if (scene.config.swarm.rebalance_every_s > 0) next_s_ = scene.config.swarm.rebalance_every_s;
}

std::optional<std::size_t> StepMoves::decide(double now_s, double step_s) {
  const double period_s = scene_.config.swarm.rebalance_every_s;
  if (mover_) {
    next_s_ = now_s + step_s / 2;
    return std::nullopt;
  }
  next_s_ = now_s + period_s;
  BalanceQuestion question;
  question.stages.resize(members_.size());
  for (std::size_t stage = 0; stage < members_.size(); ++stage) {
    question.stages[stage].load = scene_.loads[stage];
    for (const std::size_t machine : members_[stage]) {
      BalancedReplica one;
      one.replica = Incarnation{machine + 1};
      one.speed = 1 / (kPassesOfTraining * pass_s_at(scene_.machines[machine], now_s));
      one.served_s = now_s - served_since_s_[machine];
      question.stages[stage].replicas.push_back(one);
    }
  }
  RebalanceRule rule;
  rule.least_gain = kLeastGainOfARun;
  rule.rest_s = period_s;
  rule.lost_work_s = step_s;
  if (move_took_s_) rule.warm_up_s = *move_took_s_;
  const auto decision = decide_move(question, rule);
  if (!decision.move) return std::nullopt;
  mover_ = Mover{static_cast<std::size_t>(decision.move->replica.value - 1), decision.move->to.value, now_s};
  return mover_->machine;
}

double StepMoves::copying_s(std::size_t machine, std::size_t stage) const {
  const StepLink& own = scene_.machines[machine].link;
  const StepLink& donor = scene_.machines[members_[stage].front()].link;
  const double latency_s = std::max(own.latency_s, donor.latency_s);
  return 2 * latency_s + 8 * scene_.state_bytes[stage] / std::min(own.bit_s, donor.bit_s);
}

std::optional<StepMoves::Change> StepMoves::committed(double now_s) {
  if (!mover_) return std::nullopt;
  const std::size_t machine = mover_->machine;
  if (!mover_->ready_s) {
    const std::size_t from = stage_of_[machine];
    std::erase(members_[from], machine);
    stage_of_[machine] = mover_->to;
    mover_->ready_s = now_s + copying_s(machine, mover_->to);
    return Change{machine, from, false};
  }
  if (now_s < *mover_->ready_s) return std::nullopt;
  auto& members = members_[mover_->to];
  members.insert(std::ranges::upper_bound(members, machine), machine);
  served_since_s_[machine] = now_s;
  move_took_s_ = now_s - mover_->since_s;
  ++moves_;
  const Change change{machine, mover_->to, true};
  mover_.reset();
  return change;
}

}  // namespace shoal
