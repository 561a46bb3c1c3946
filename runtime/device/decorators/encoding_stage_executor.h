// A device whose activations and gradients cross the borders between stages in fewer bytes (`pipeline.activations`):
// one that computes at once. Devices with queues encode by themselves (runtime/device/queue/borders.h).
//
// In front of it, what comes from a neighbour or goes to one is an encoded vector (runtime/sync/wire/wire_codec.h),
// uint8 [n]; behind it, float32 [B,T,C]. Ledgers, routers and caches hold the encoded bytes and send those again, and
// the same values always give the same bytes: another replica, or a second computation, changes no bit. Each border
// rounds, so another number of stages gives other bits. Tokens and targets stay int32.
//
// A tensor with a value that no format carries (NaN, infinities, magnitudes above 2^100) goes as it is, float32: a run
// that diverges is noticed, as without encoding. A tensor that is not uint8 goes on to the device, which judges it.
// Bytes that are no encoded vector of this form and count are a bug (ensured), as a tensor of a wrong shape is.
// Torch-free.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/device/decorators/forwarding_stage_executor.h"

namespace shoal {

class EncodingStageExecutor final : public ForwardingStageExecutor {
 public:
  // shape: [B,T,C] of every activation of the run.
  EncodingStageExecutor(std::unique_ptr<StageExecutor> device, WireFormat format, std::vector<std::int64_t> shape);

  [[nodiscard]] TensorBlob forward(const MicrobatchWork& work) override;
  [[nodiscard]] BackwardResult backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                        WeightGradients when) override;
  [[nodiscard]] BackwardResult forward_backward(const MicrobatchWork& work, WeightGradients when) override;
  [[nodiscard]] EvaluateResult evaluate(const MicrobatchWork& work) override;

 private:
  [[nodiscard]] TensorBlob encoded(TensorBlob values) const;
  [[nodiscard]] BackwardResult encoded(BackwardResult result) const;
  [[nodiscard]] TensorBlob decoded(const TensorBlob& sent) const;
  [[nodiscard]] MicrobatchWork decoded(const MicrobatchWork& work) const;

  WireFormat format_;
  std::vector<std::int64_t> shape_;
  std::size_t count_ = 1;  // number of values in that shape
};

}  // namespace shoal
