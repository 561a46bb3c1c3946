// The failure comes before the device has seen the microbatch; an injury is met by its first kernels.
#include "runtime/device/decorators/poisoned_stage_executor.h"

#include <cstdlib>
#include <stdexcept>

#include "runtime/base/ensure.h"

namespace shoal {

void PoisonedStageExecutor::fail_at(const MicrobatchWork& work) const {
  if (work.step != poison_.step || work.microbatch != poison_.microbatch) return;
  if (poison_.how == Poison::How::kAbort) std::abort();
  if (poison_.how == Poison::How::kThrow) throw std::runtime_error("a poisoned microbatch");
  ENSURE(injure_, "SHOAL_POISON: only a GPU can be injured");
  injure_(*poison_.injury);
}

TensorBlob PoisonedStageExecutor::forward(const MicrobatchWork& work) {
  fail_at(work);
  return device_->forward(work);
}

BackwardResult PoisonedStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  fail_at(work);
  return device_->forward_backward(work, when);
}

}  // namespace shoal
