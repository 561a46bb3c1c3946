// Products in the orientations that autograd chooses for addmm and mm.
#include "model/parts/projection.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

namespace shoal {

Projection::Projection(const ProjectionSpec& spec, const Parameters& parameters)
    : orientation_(spec.orientation), weight_(parameters.of(spec.weight)) {
  if (spec.bias) bias_ = parameters.of(*spec.bias);
}

at::Tensor Projection::forward(const at::Tensor& x_BTI, Tape& tape) const {
  const auto sizes = x_BTI.sizes();
  const at::Tensor x_NI = x_BTI.reshape({sizes[0] * sizes[1], sizes[2]});
  tape.keep(x_NI);
  const at::Tensor weight_IO = orientation_ == Orientation::kInOut ? weight_.value : weight_.value.t();
  const at::Tensor y_NO = bias_ ? at::addmm(bias_->value, x_NI, weight_IO) : at::mm(x_NI, weight_IO);
  return y_NO.view({sizes[0], sizes[1], y_NO.size(1)});
}

at::Tensor Projection::backward(const at::Tensor& dy_BTO, Tape& tape, ParameterGradients& gradients) const {
  const auto sizes = dy_BTO.sizes();
  const at::Tensor dy_NO = dy_BTO.reshape({sizes[0] * sizes[1], sizes[2]});
  const at::Tensor x_NI = tape.take();
  const bool is_in_out = orientation_ == Orientation::kInOut;
  gradients.set_of_projection(
      weight_, [x_NI, dy_NO, is_in_out] { return is_in_out ? at::mm(x_NI.t(), dy_NO) : at::mm(dy_NO.t(), x_NI); });
  if (bias_) gradients.set_of_projection(*bias_, [dy_NO] { return dy_NO.sum(0); });
  const at::Tensor weight_OI = is_in_out ? weight_.value.t() : weight_.value;
  return at::mm(dy_NO, weight_OI).view({sizes[0], sizes[1], weight_OI.size(1)});
}

Head::Head(const ProjectionSpec& spec, const Parameters& parameters) : weight_VC_(parameters.of(spec.weight)) {}

at::Tensor Head::forward(const at::Tensor& x_BTC, Tape& tape) const {
  tape.keep(x_BTC);
  return at::linear(x_BTC, weight_VC_.value);
}

at::Tensor Head::backward(const at::Tensor& dy_BTV, Tape& tape, ParameterGradients& gradients) const {
  const at::Tensor x_BTC = tape.take();
  const at::Tensor dy_NV = dy_BTV.reshape({-1, dy_BTV.size(2)});
  gradients.set(weight_VC_, at::mm(dy_NV.t(), x_BTC.reshape({-1, x_BTC.size(2)})));
  return at::mm(dy_NV, weight_VC_.value).view(x_BTC.sizes());
}

}  // namespace shoal
