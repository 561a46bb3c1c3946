// The kernels that parts of a model call, on a stage's stream.
// GELU, SwiGLU in bf16, dropout and rows of an embedding have the CPU's bits; the others repeat, and are torch's within
// rounding.
#pragma once

#include <memory>

#include "model/parts/fused_math.h"
#include "runtime/device/queue/device_queue.h"

namespace shoal {

class FusedKernels final : public FusedMath {
 public:
  explicit FusedKernels(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)) {}

  [[nodiscard]] bool takes_norm_of(std::int64_t width) const override;
  [[nodiscard]] bool takes_hidden_of(std::int64_t width) const override;
  [[nodiscard]] at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias) const override;
  [[nodiscard]] BiasedGradient bias_gelu_backward(const at::Tensor& x, const at::Tensor& bias,
                                                  const at::Tensor& dy) const override;
  [[nodiscard]] at::Tensor bias_gradient(const at::Tensor& dy_NO) const override;
  [[nodiscard]] at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) const override;
  [[nodiscard]] GatedGradient swiglu_backward(const at::Tensor& gate, const at::Tensor& up,
                                              const at::Tensor& dy) const override;
  [[nodiscard]] at::Tensor drop(const at::Tensor& x_BTC, const Dropout& dropout,
                                const std::vector<std::uint64_t>& streams) const override;
  [[nodiscard]] NormResult residual_norm(const NormWeights& norm, const at::Tensor& x,
                                         const at::Tensor& branch) const override;
  [[nodiscard]] NormGradient residual_norm_backward(const NormWeights& norm, const NormResult& kept,
                                                    const at::Tensor& dy, const at::Tensor& around) const override;
  [[nodiscard]] at::Tensor embedding_gradient(const at::Tensor& dy_BTC, const at::Tensor& tokens_BT,
                                              std::int64_t rows) const override;
  [[nodiscard]] at::Tensor sum_over_sequences(const at::Tensor& dy_BTC) const override;

 private:
  std::shared_ptr<DeviceQueue> queue_;
};

}  // namespace shoal
