// Normalisations over the last dimension: LayerNorm and RMSNorm (layer_list.h has the formulas).
// The last dimension is the norm's width; the others are whatever the caller has, a head's elements too.
#pragma once

#include <memory>

#include "model/layer_list.h"
#include "model/parts/part.h"

namespace shoal {

class Norm : public ModelPart {
 public:
  struct Summed {
    at::Tensor sum, y;
  };
  // The stream's sum, and forward() of it.
  [[nodiscard]] virtual Summed forward_onto(const Residual& from, Tape& tape) const {
    const at::Tensor sum = from.sum();
    return {sum, forward(sum, tape)};
  }
  // backward(), added to the gradient that goes round the norm: as many sums, in the order in which autograd makes
  // them.
  [[nodiscard]] virtual StreamGradient backward_onto(const at::Tensor& dx_around, const at::Tensor& dy, Tape& tape,
                                                     ParameterGradients& gradients) const = 0;
};

// y: the type that what follows takes; a device's own kernels write it, torch's operators give float32.
[[nodiscard]] std::unique_ptr<Norm> make_norm(const NormSpec& spec, const Parameters& parameters,
                                              at::ScalarType y = at::kFloat);

}  // namespace shoal
