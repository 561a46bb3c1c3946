// Products in the orientations that autograd chooses for addmm and mm.
#include "model/parts/projection.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include "model/parts/bf16/product.h"
#include "runtime/base/arithmetic/padded_rows.h"
#include "runtime/base/ensure.h"

namespace shoal {

Projection::Projection(const ProjectionSpec& spec, const Parameters& parameters, at::ScalarType result)
    : orientation_(spec.orientation), result_(result), weight_(parameters.of_product(spec.weight)) {
  if (!spec.bias) return;
  bias_ = parameters.of_product(*spec.bias);
  const FusedMath* const fused = parameters.fused();
  if (fused != nullptr && fused->takes_hidden_of(bias_->value.size(0))) fused_ = fused;
}

at::Tensor Projection::forward(const at::Tensor& x_BTI, Tape& tape) const {
  const auto sizes = x_BTI.sizes();
  const at::Tensor x_NI = x_BTI.reshape({sizes[0] * sizes[1], sizes[2]});
  tape.keep(x_NI);
  const at::Tensor y_NO = product(x_NI);
  return y_NO.view({sizes[0], sizes[1], y_NO.size(1)});
}

at::Tensor Projection::product(const at::Tensor& x_NI) const {
  if (weight_.copy.defined()) return in_bf16(x_NI);
  const at::Tensor weight_IO = orientation_ == Orientation::kInOut ? weight_.value : weight_.value.t();
  return bias_ ? at::addmm(bias_->value, x_NI, weight_IO) : at::mm(x_NI, weight_IO);
}

at::Tensor Projection::in_bf16(const at::Tensor& x_NI) const {
  std::optional<Bf16Factor> bias;
  if (bias_) bias = Bf16Factor{bias_->value, bias_->copy};
  return bf16_product(x_NI, {weight_.value, weight_.copy}, bias, orientation_, result_);
}

at::Tensor Projection::rows_of(const at::Tensor& dy_BTO) const {
  const auto sizes = dy_BTO.sizes();
  const at::Tensor dy_NO = dy_BTO.reshape({sizes[0] * sizes[1], sizes[2]});
  return weight_.copy.defined() ? dy_NO.to(at::kBFloat16) : dy_NO;
}

at::Tensor Projection::backward(const at::Tensor& dy_BTO, Tape& tape, ParameterGradients& gradients) const {
  const at::Tensor dy_NO = rows_of(dy_BTO);
  const at::Tensor x_NI = tape.take();
  const bool is_in_out = orientation_ == Orientation::kInOut;
  const auto dx_BTI = [&](const at::Tensor& dx_NI) {
    return dx_NI.view({dy_BTO.size(0), dy_BTO.size(1), dx_NI.size(1)});
  };
  if (weight_.copy.defined()) {
    const Orientation orientation = orientation_;
    gradients.set_of_projection(weight_,
                                [x_NI, dy_NO, orientation] { return bf16_weight_gradient(x_NI, dy_NO, orientation); });
    if (bias_) set_bias_gradient(dy_NO, gradients);
    return dx_BTI(bf16_input_gradient(dy_NO, weight_.copy, orientation_));
  }
  gradients.set_of_projection(
      weight_, [x_NI, dy_NO, is_in_out] { return is_in_out ? at::mm(x_NI.t(), dy_NO) : at::mm(dy_NO.t(), x_NI); });
  if (bias_) set_bias_gradient(dy_NO, gradients);
  return dx_BTI(at::mm(dy_NO, is_in_out ? weight_.value.t() : weight_.value));
}

void Projection::set_bias_gradient(const at::Tensor& dy_NO, ParameterGradients& gradients) const {
  if (fused_ != nullptr) {
    gradients.set_of_projection(*bias_, [dy_NO, fused = fused_] { return fused->bias_gradient(dy_NO); });
  } else if (weight_.copy.defined()) {
    gradients.set_of_projection(*bias_, [dy_NO] { return bf16_bias_gradient(dy_NO); });
  } else {
    gradients.set_of_projection(*bias_, [dy_NO] { return dy_NO.sum(0); });
  }
}

Head::Head(const ProjectionSpec& spec, const Parameters& parameters) : weight_VC_(parameters.of_product(spec.weight)) {
  if (!weight_VC_.copy.defined() || parameters.fused() == nullptr) return;
  const std::int64_t vocabulary = weight_VC_.value.size(0);
  const std::int64_t rows = padded_rows(vocabulary);
  const bool is_whole = rows == vocabulary;
  padded_VC_ = is_whole ? weight_VC_.copy : at::zeros({rows, weight_VC_.value.size(1)}, weight_VC_.copy.options());
}

at::Tensor Head::forward(const at::Tensor& x_BTC, Tape& tape) const {
  if (!weight_VC_.copy.defined()) {
    tape.keep(x_BTC);
    return at::linear(x_BTC, weight_VC_.value);
  }
  const at::Tensor x_NC = x_BTC.reshape({-1, x_BTC.size(2)}).to(at::kBFloat16);
  tape.keep(x_NC);
  const std::int64_t B = x_BTC.size(0), T = x_BTC.size(1), V = weight_VC_.value.size(0);
  if (padded_VC_.defined()) {
    if (padded_VC_.size(0) != V) padded_VC_.narrow(0, 0, V).copy_(weight_VC_.copy);
    return at::mm(x_NC, padded_VC_.t()).view({B, T, -1}).narrow(2, 0, V);
  }
  const at::Tensor logits_NV =
      bf16_product(x_NC, {weight_VC_.value, weight_VC_.copy}, std::nullopt, Orientation::kOutIn, at::kFloat);
  return logits_NV.view({B, T, V});
}

at::Tensor Head::backward(const at::Tensor& dy_BTV, Tape& tape, ParameterGradients& gradients) const {
  const at::Tensor x = tape.take();
  if (padded_VC_.defined()) return backward_padded(dy_BTV, x, gradients);
  const at::Tensor dy_NV = dy_BTV.reshape({-1, dy_BTV.size(2)});
  if (weight_VC_.copy.defined()) {
    const at::Tensor d_NV = dy_NV.to(at::kBFloat16);
    gradients.set(weight_VC_, bf16_weight_gradient(x, d_NV, Orientation::kOutIn));
    const at::Tensor dx_NC = bf16_input_gradient(d_NV, weight_VC_.copy, Orientation::kOutIn).to(at::kFloat);
    return dx_NC.view({dy_BTV.size(0), dy_BTV.size(1), dx_NC.size(1)});
  }
  gradients.set(weight_VC_, at::mm(dy_NV.t(), x.reshape({-1, x.size(2)})));
  return at::mm(dy_NV, weight_VC_.value).view(x.sizes());
}

// Rows of dy are zero behind the vocabulary (DeviceMath::loss_and_gradient).
at::Tensor Head::backward_padded(const at::Tensor& dy_BTV, const at::Tensor& x_NC,
                                 ParameterGradients& gradients) const {
  const std::int64_t B = dy_BTV.size(0), T = dy_BTV.size(1), V = dy_BTV.size(2), rows = padded_VC_.size(0);
  ENSURE(dy_BTV.scalar_type() == at::kBFloat16 && dy_BTV.stride(1) == rows, "the gradient of padded logits");
  const at::Tensor dy_NV = dy_BTV.as_strided({B * T, rows}, {rows, 1});
  gradients.set(weight_VC_, bf16_weight_gradient(x_NC, dy_NV, Orientation::kOutIn).narrow(0, 0, V));
  return at::mm(dy_NV, padded_VC_).view({B, T, x_NC.size(1)});
}

}  // namespace shoal
