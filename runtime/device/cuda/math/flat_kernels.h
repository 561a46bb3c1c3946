// The arithmetic over all tensors of a flat array by kernels, one launch for all of them (kernels/tensor_chunks.h).
// Its tables are copied to the device once, and small ones of a call (addresses, coefficients) with it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device/cuda/kernels/tensor_chunks.h"
#include "runtime/device/queue/device_queue.h"
#include "runtime/device/queue/math/flat_math.h"

namespace shoal {

class FlatKernels final : public FlatMath {
 public:
  FlatKernels(std::shared_ptr<DeviceQueue> queue, const std::vector<FlatSpan>& spans, at::Device device);

  [[nodiscard]] at::Tensor add_within(const Addition& into, std::size_t first,
                                      std::span<const at::Tensor> gradients) const override;
  [[nodiscard]] at::Tensor squared_norms(const at::Tensor& flat) const override;
  [[nodiscard]] at::Tensor block_values(const at::Tensor& flat) const override;
  void apply_adamw(std::span<const AdamwCoefficients> coefficients, const AdamwTensors& tensors) const override;

 private:
  template <class T>
  [[nodiscard]] at::Tensor sent(std::span<const T> values) const;
  [[nodiscard]] gpu::TensorChunks all() const;

  std::shared_ptr<DeviceQueue> queue_;
  at::Device device_;
  std::vector<gpu::TensorSpan> spans_;
  std::size_t chunks_ = 0;
  at::Tensor span_table_, chunk_table_;  // bytes
};

}  // namespace shoal
