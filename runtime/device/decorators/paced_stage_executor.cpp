// Every call that computes waits for its end; all others pass through.
#include "runtime/device/decorators/paced_stage_executor.h"

#include <utility>

namespace shoal {

PacedStageExecutor::PacedStageExecutor(std::unique_ptr<StageExecutor> device, Duration pace,
                                       std::shared_ptr<PacedDevice> shared, WaitUntil wait_until)
    : ForwardingStageExecutor(std::move(device)),
      pace_(pace),
      shared_(std::move(shared)),
      wait_until_(std::move(wait_until)) {}

TensorBlob PacedStageExecutor::forward(const MicrobatchWork& work) {
  const Instant end = shared_->reserve(pace_);
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
  const Instant end = shared_->reserve(halves(microbatch, when) * pace_);
  BackwardResult result = device_->backward(microbatch, output_gradient, when);
  wait_until_(end);
  return result;
}

BackwardResult PacedStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  const Instant end = shared_->reserve((1 + halves(work.microbatch, when)) * pace_);
  BackwardResult result = device_->forward_backward(work, when);
  wait_until_(end);
  return result;
}

AccumulateResult PacedStageExecutor::accumulate(MicrobatchId microbatch) {
  if (left_.erase(microbatch) == 0) return device_->accumulate(microbatch);
  const Instant end = shared_->reserve(pace_);
  AccumulateResult result = device_->accumulate(microbatch);
  wait_until_(end);
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
  const Instant end = shared_->reserve(pace_);
  EvaluateResult result = device_->evaluate(work);
  wait_until_(end);
  return result;
}

}  // namespace shoal
