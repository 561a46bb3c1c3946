// Torch's kernel for LayerNorm; RMSNorm operator by operator, as transformers computes it; a device's own for both.
#include "model/parts/norm.h"

#include <optional>
#include <tuple>
#include <utility>

#include <ATen/ExpandUtils.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>

namespace shoal {
namespace {

class LayerNorm final : public Norm {
 public:
  LayerNorm(const NormSpec& spec, const Parameters& parameters)
      : width_(spec.width),
        eps_(spec.eps),
        weight_(parameters.of(spec.weight)),
        bias_(parameters.of(spec.bias.value())) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x, Tape& tape) const override {
    auto [y, mean, rstd] = at::native_layer_norm(x, {width_}, weight_.value, bias_.value, eps_);
    tape.keep(x);
    tape.keep(mean);
    tape.keep(rstd);
    return y;
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const at::Tensor rstd = tape.take();
    const at::Tensor mean = tape.take();
    const at::Tensor x = tape.take();
    auto [dx, dweight, dbias] = at::native_layer_norm_backward(dy.to(at::kFloat), x, {width_}, mean, rstd,
                                                               weight_.value, bias_.value, {true, true, true});
    gradients.set(weight_, dweight);
    gradients.set(bias_, dbias);
    return dx;
  }

  [[nodiscard]] StreamGradient backward_onto(const at::Tensor& dx_around, const at::Tensor& dy, Tape& tape,
                                             ParameterGradients& gradients) const override {
    return {dx_around.add(backward(dy, tape, gradients))};
  }

 private:
  std::int64_t width_;
  double eps_;
  Parameter weight_, bias_;
};

class RmsNorm final : public Norm {
 public:
  RmsNorm(const NormSpec& spec, const Parameters& parameters)
      : width_(spec.width), eps_(spec.eps), weight_(parameters.of(spec.weight)) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x, Tape& tape) const override {
    const at::Tensor scale = x.pow(2).mean({-1}, true).add(eps_).rsqrt();
    const at::Tensor normal = x.mul(scale);
    tape.keep(x);
    tape.keep(scale);
    tape.keep(normal);
    return normal.mul(weight_.value);
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const auto [by_normal, by_scale] = halves(dy, tape, gradients);
    return by_normal.add(by_scale);
  }

  [[nodiscard]] StreamGradient backward_onto(const at::Tensor& dx_around, const at::Tensor& dy, Tape& tape,
                                             ParameterGradients& gradients) const override {
    const auto [by_normal, by_scale] = halves(dy, tape, gradients);
    return {dx_around.add(by_normal).add(by_scale)};
  }

 private:
  // Returns x's gradient in two terms: through x times scale, and through the scale.
  std::pair<at::Tensor, at::Tensor> halves(const at::Tensor& dy_of_any, Tape& tape,
                                           ParameterGradients& gradients) const {
    const at::Tensor dy = dy_of_any.to(at::kFloat);
    const at::Tensor normal = tape.take();
    const at::Tensor scale = tape.take();
    const at::Tensor x = tape.take();
    gradients.set(weight_, at::sum_to(dy.mul(normal), at::IntArrayRef(&width_, 1)));
    const at::Tensor dnormal = dy.mul(weight_.value);
    const at::Tensor dscale = dnormal.mul(x).sum({-1}, true);
    const at::Tensor dmean = dscale.mul(-0.5).mul(scale.pow(3));
    const at::Tensor dsquares = dmean.expand(x.sizes()).div(static_cast<double>(width_));
    return {dnormal.mul(scale), dsquares.mul(x.mul(2))};
  }

  std::int64_t width_;
  double eps_;
  Parameter weight_;
};

// Either of them, with the sum before it, by the device's own kernels.
class FusedNorm final : public Norm {
 public:
  FusedNorm(const NormSpec& spec, const Parameters& parameters, at::ScalarType y)
      : math_(*parameters.fused()), kind_(spec.kind), eps_(spec.eps), y_(y), weight_(parameters.of(spec.weight)) {
    if (spec.bias) bias_ = parameters.of(*spec.bias);
  }

  [[nodiscard]] at::Tensor forward(const at::Tensor& x, Tape& tape) const override { return forward_onto({x}, tape).y; }

  [[nodiscard]] Residual forward_stream(const Residual& from, Tape& tape) const override {
    return {forward_onto(from, tape).y};
  }

  [[nodiscard]] Summed forward_onto(const Residual& from, Tape& tape) const override {
    const FusedMath::NormResult result = math_.residual_norm(weights(), from.x, from.branch);
    tape.keep(result.sum);
    tape.keep(result.mean);
    tape.keep(result.rstd);
    return {result.sum, result.y};
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    return backward_onto({}, dy, tape, gradients).d;
  }

  [[nodiscard]] StreamGradient backward_stream(const StreamGradient& dy, Tape& tape,
                                               ParameterGradients& gradients) const override {
    return backward_onto({}, dy.d, tape, gradients);
  }

  [[nodiscard]] StreamGradient backward_onto(const at::Tensor& dx_around, const at::Tensor& dy, Tape& tape,
                                             ParameterGradients& gradients) const override {
    FusedMath::NormResult kept;
    kept.rstd = tape.take();
    kept.mean = tape.take();
    kept.sum = tape.take();
    const FusedMath::NormGradient gradient = math_.residual_norm_backward(weights(), kept, dy, dx_around);
    gradients.set(weight_, gradient.dweight);
    if (bias_) gradients.set(*bias_, gradient.dbias);
    return {gradient.dx, gradient.copy};
  }

 private:
  [[nodiscard]] FusedMath::NormWeights weights() const {
    return {kind_, eps_, weight_.value, bias_ ? bias_->value : at::Tensor(), y_};
  }

  const FusedMath& math_;
  NormKind kind_;
  double eps_;
  at::ScalarType y_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

}  // namespace

std::unique_ptr<Norm> make_norm(const NormSpec& spec, const Parameters& parameters, at::ScalarType y) {
  const FusedMath* fused = parameters.fused();
  if (fused != nullptr && fused->takes_norm_of(spec.width)) return std::make_unique<FusedNorm>(spec, parameters, y);
  if (spec.kind == NormKind::kLayer) return std::make_unique<LayerNorm>(spec, parameters);
  return std::make_unique<RmsNorm>(spec, parameters);
}

}  // namespace shoal
