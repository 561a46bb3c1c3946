// Every call that computes waits for its end; all others pass through.
#include "runtime/device/decorators/paced_stage_executor.h"

#include <utility>

namespace shoal {

PacedStageExecutor::PacedStageExecutor(std::unique_ptr<StageExecutor> device, Duration pace,
                                       std::shared_ptr<const Clock> clock, WaitUntil wait_until)
    : ForwardingStageExecutor(std::move(device)),
      pace_(pace),
      clock_(std::move(clock)),
      wait_until_(std::move(wait_until)) {}

TensorBlob PacedStageExecutor::forward(const MicrobatchWork& work) {
  const Instant end = clock_->now() + pace_;
  TensorBlob activation = device_->forward(work);
  wait_until_(end);
  return activation;
}

// Returns how many halves of a backward are computed at once.
int PacedStageExecutor::halves(MicrobatchId microbatch, WeightGradients when) {
  if (when == WeightGradients::kAtOnce) return 2;
  left_.insert(microbatch);
  return 1;
}

BackwardResult PacedStageExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                            WeightGradients when) {
  const Instant end = clock_->now() + halves(microbatch, when) * pace_;
  BackwardResult result = device_->backward(microbatch, output_gradient, when);
  wait_until_(end);
  return result;
}

BackwardResult PacedStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  const Instant end = clock_->now() + (1 + halves(work.microbatch, when)) * pace_;
  BackwardResult result = device_->forward_backward(work, when);
  wait_until_(end);
  return result;
}

AccumulateResult PacedStageExecutor::accumulate(MicrobatchId microbatch) {
  const Instant end = clock_->now() + pace_;
  AccumulateResult result = device_->accumulate(microbatch);
  if (left_.erase(microbatch) > 0) wait_until_(end);
  return result;
}

void PacedStageExecutor::zero() {
  left_.clear();
  device_->zero();
}

void PacedStageExecutor::skip() {
  left_.clear();
  device_->skip();
}

EvaluateResult PacedStageExecutor::evaluate(const MicrobatchWork& work) {
  const Instant end = clock_->now() + pace_;
  EvaluateResult result = device_->evaluate(work);
  wait_until_(end);
  return result;
}

}  // namespace shoal
