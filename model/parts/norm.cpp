// Torch's kernel for LayerNorm; RMSNorm operator by operator, as transformers computes it.
#include "model/parts/norm.h"

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
    auto [dx, dweight, dbias] =
        at::native_layer_norm_backward(dy, x, {width_}, mean, rstd, weight_.value, bias_.value, {true, true, true});
    gradients.set(weight_, dweight);
    gradients.set(bias_, dbias);
    return dx;
  }

  [[nodiscard]] at::Tensor backward_onto(const at::Tensor& dx_around, const at::Tensor& dy, Tape& tape,
                                         ParameterGradients& gradients) const override {
    return dx_around.add(backward(dy, tape, gradients));
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

  [[nodiscard]] at::Tensor backward_onto(const at::Tensor& dx_around, const at::Tensor& dy, Tape& tape,
                                         ParameterGradients& gradients) const override {
    const auto [by_normal, by_scale] = halves(dy, tape, gradients);
    return dx_around.add(by_normal).add(by_scale);
  }

 private:
  // Returns x's gradient in two terms: through x times scale, and through the scale.
  std::pair<at::Tensor, at::Tensor> halves(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const {
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

}  // namespace

std::unique_ptr<Norm> make_norm(const NormSpec& spec, const Parameters& parameters) {
  if (spec.kind == NormKind::kLayer) return std::make_unique<LayerNorm>(spec, parameters);
  return std::make_unique<RmsNorm>(spec, parameters);
}

}  // namespace shoal
