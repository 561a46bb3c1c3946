// Every call that computes waits for its end; all others pass through.
#include "runtime/device/decorators/paced_stage_executor.h"

#include <utility>

namespace shoal {
namespace {

constexpr int kBackwardFactor = 2;

}  // namespace

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

BackwardResult PacedStageExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient) {
  const Instant end = clock_->now() + kBackwardFactor * pace_;
  BackwardResult result = device_->backward(microbatch, output_gradient);
  wait_until_(end);
  return result;
}

BackwardResult PacedStageExecutor::forward_backward(const MicrobatchWork& work) {
  const Instant end = clock_->now() + (1 + kBackwardFactor) * pace_;
  BackwardResult result = device_->forward_backward(work);
  wait_until_(end);
  return result;
}

EvaluateResult PacedStageExecutor::evaluate(const MicrobatchWork& work) {
  const Instant end = clock_->now() + pace_;
  EvaluateResult result = device_->evaluate(work);
  wait_until_(end);
  return result;
}

}  // namespace shoal
