// Every call that computes waits for its end; all others pass through.
#include "runtime/device/decorators/paced_stage_executor.h"

#include <utility>

namespace shoal {

Duration PacedDevice::pace_at(Instant instant) const {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const double age_s = std::chrono::duration<double>(instant - made_at_).count();
  double pace_ms = pace_.pace_ms;
  for (const PaceChange& change : pace_.pace_changes) {
    if (age_s >= change.from_s) pace_ms = change.pace_ms;
  }
  return std::chrono::duration_cast<Duration>(Milliseconds(pace_ms));
}

Instant PacedDevice::reserve(int paces) {
  const std::lock_guard lock(mutex_);
  const Instant begins = std::max(clock_->now(), busy_until_);
  busy_until_ = begins + paces * pace_at(begins);
  return busy_until_;
}

PacedStageExecutor::PacedStageExecutor(std::unique_ptr<StageExecutor> device, std::shared_ptr<PacedDevice> shared,
                                       WaitUntil wait_until)
    : ForwardingStageExecutor(std::move(device)), shared_(std::move(shared)), wait_until_(std::move(wait_until)) {}

TensorBlob PacedStageExecutor::forward(const MicrobatchWork& work) {
  const Instant end = shared_->reserve(1);
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
  const Instant end = shared_->reserve(halves(microbatch, when));
  BackwardResult result = device_->backward(microbatch, output_gradient, when);
  wait_until_(end);
  return result;
}

BackwardResult PacedStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  const Instant end = shared_->reserve(1 + halves(work.microbatch, when));
  BackwardResult result = device_->forward_backward(work, when);
  wait_until_(end);
  return result;
}

AccumulateResult PacedStageExecutor::accumulate(MicrobatchId microbatch) {
  if (left_.erase(microbatch) == 0) return device_->accumulate(microbatch);
  const Instant end = shared_->reserve(1);
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
  const Instant end = shared_->reserve(1);
  EvaluateResult result = device_->evaluate(work);
  wait_until_(end);
  return result;
}

}  // namespace shoal
