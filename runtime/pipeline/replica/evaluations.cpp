// Evaluations from their Forward to their answer.
#include "runtime/pipeline/replica/evaluations.h"

#include <algorithm>
#include <utility>

#include "runtime/pipeline/replica/pipeline_replies.h"
#include "runtime/pipeline/replica_fill.h"

namespace shoal {

std::size_t Evaluations::size_max() const {
  return std::max<std::size_t>(kEvaluationsMax, 2 * std::size_t{microbatch_count_});
}

bool Evaluations::enter(const Forward& message, double transfer_ms, ReplicaTurn& turn) {
  const Waiter asker{message.sender, message.cause};
  const auto found = held_.find(message.cause.microbatch);
  if (found != held_.end()) {
    const auto is_same = [&asker](const Waiter& other) { return other.replica == asker.replica; };
    auto& waiters = found->second.waiters;
    if (std::none_of(waiters.begin(), waiters.end(), is_same)) waiters.push_back(asker);
    return false;
  }
  if (kEvaluationsMax.reached_if(held_.size() >= size_max())) {
    refuse(asker, message.purpose, RefusalReason::kBusy, turn);
    return false;
  }
  const Hop timing{turn.replica().setup.self, 0, 0, static_cast<float>(transfer_ms)};
  held_.emplace(message.cause.microbatch, Evaluation{message, {asker}, timing, turn.now()});
  return true;
}

void Evaluations::start(MicrobatchId microbatch, ReplicaTurn& turn) {
  Evaluation& evaluation = held_.at(microbatch);
  evaluation.timing.queue_ms = static_cast<float>(milliseconds(turn.now() - evaluation.arrived));
  turn.stream(EvaluateJob{work_of(evaluation.forward)}, Activity::kForward);
}

void Evaluations::computed(const Evaluated& result, ReplicaTurn& turn) {
  Evaluation& evaluation = held_.at(result.microbatch);
  evaluation.timing.compute_ms = turn.job_ms();
  if (!turn.replica().is_last_stage()) {
    send_onward(evaluation.forward, result.result.activation, turn);
    evaluation.forward = {};
    evaluation.is_passed_on = true;
    return;
  }
  Backward reply;
  reply.purpose = Purpose::kEvaluate;
  reply.loss_sum = result.result.loss_sum;
  reply.token_count = result.result.token_count;
  conclude(result.microbatch, std::move(reply), turn);
}

bool Evaluations::take(const Backward& answer, ReplicaTurn& turn) {
  const auto found = held_.find(answer.cause.microbatch);
  if (found == held_.end() || !found->second.is_passed_on) return false;
  conclude(answer.cause.microbatch, answer, turn);
  return true;
}

void Evaluations::conclude(MicrobatchId microbatch, Backward reply, ReplicaTurn& turn) {
  const Evaluation evaluation = std::move(held_.extract(microbatch).mapped());
  reply.trail.push_back(evaluation.timing);
  reply.input_gradient = {};
  for (const Waiter& waiter : evaluation.waiters) answer(waiter, reply, turn);
}

}  // namespace shoal
