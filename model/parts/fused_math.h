// Arithmetic of parts in one pass over a device's memory, where torch's operators take several. A device with kernels
// of its own gives it to the parts (DeviceSupport); without it they call torch's operators.
//
// Results repeat bit for bit and are those of torch's operators within rounding. Tensors are float32 unless said, on
// the device, and dense; an undefined tensor is absent. Shape letters: F elements of the hidden layer, N rows,
// O outputs.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "model/dropout.h"
#include "model/layer_list.h"

namespace shoal {

class FusedMath {
 public:
  FusedMath() = default;
  FusedMath(const FusedMath&) = delete;
  FusedMath& operator=(const FusedMath&) = delete;
  virtual ~FusedMath() = default;

  // Parts of widths that it does not take call torch's operators.
  [[nodiscard]] virtual bool takes_norm_of(std::int64_t width) const = 0;
  [[nodiscard]] virtual bool takes_hidden_of(std::int64_t width) const = 0;

  // gelu(x + bias), tanh form. x, dy and results: float32 or bf16 [..,F]; bias [F].
  [[nodiscard]] virtual at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias) const = 0;
  struct BiasedGradient {
    at::Tensor dx, dbias;
  };
  [[nodiscard]] virtual BiasedGradient bias_gelu_backward(const at::Tensor& x, const at::Tensor& bias,
                                                          const at::Tensor& dy) const = 0;

  // The sum of dy over its rows, [O]; dy: float32 or bf16, O as takes_hidden_of() says.
  [[nodiscard]] virtual at::Tensor bias_gradient(const at::Tensor& dy_NO) const = 0;

  // silu(gate) up. All of one type, float32 or bf16 [..,F].
  [[nodiscard]] virtual at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) const = 0;
  struct GatedGradient {
    at::Tensor dgate, dup;
  };
  [[nodiscard]] virtual GatedGradient swiglu_backward(const at::Tensor& gate, const at::Tensor& up,
                                                      const at::Tensor& dy) const = 0;

  // x, float32 or bf16, times dropout.mask(), which is drawn where x is: both ways alike. streams: of its samples
  // (Dropout::streams). 4 divides the elements of a sample.
  [[nodiscard]] virtual at::Tensor drop(const at::Tensor& x_BTC, const Dropout& dropout,
                                        const std::vector<std::uint64_t>& streams) const = 0;

  // sum = x + branch, y = norm(sum), over rows of the last dimension. branch: of y's type; the sum is float32.
  struct NormWeights {
    NormKind kind = NormKind::kLayer;
    double eps = 0;
    at::Tensor weight, bias;
    at::ScalarType y = at::kFloat;  // or bf16
  };
  struct NormResult {
    at::Tensor sum, y, mean, rstd;  // mean: kLayer alone
  };
  [[nodiscard]] virtual NormResult residual_norm(const NormWeights& norm, const at::Tensor& x,
                                                 const at::Tensor& branch) const = 0;
  struct NormGradient {
    at::Tensor dx, dweight, dbias;
    at::Tensor copy = {};  // bf16 of dx, where y is bf16: products take it
  };
  // dx = around + the norm's, float32. dy: float32 or bf16. around: the gradient that goes round the norm, absent where
  // nothing does.
  [[nodiscard]] virtual NormGradient residual_norm_backward(const NormWeights& norm, const NormResult& kept,
                                                            const at::Tensor& dy, const at::Tensor& around) const = 0;

  // The gradient of a table of `rows` rows, [rows,C]; positions of one token are added in order. tokens: int32, host.
  [[nodiscard]] virtual at::Tensor embedding_gradient(const at::Tensor& dy_BTC, const at::Tensor& tokens_BT,
                                                      std::int64_t rows) const = 0;
  // Sequences are added in order: [T,C].
  [[nodiscard]] virtual at::Tensor sum_over_sequences(const at::Tensor& dy_BTC) const = 0;
};

}  // namespace shoal
