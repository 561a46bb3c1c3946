// Projections with an activation between them.
#include "model/parts/mlp.h"

#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include "model/parts/gelu.h"
#include "model/parts/projection.h"

namespace shoal {
namespace {

class GeluMlp final : public ModelPart {
 public:
  GeluMlp(const MlpSpec& spec, const Parameters& parameters)
      : in_(spec.in.at(0), parameters), out_(spec.out, parameters) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override {
    const at::Tensor before_BTF = in_.forward(x_BTC, tape);
    tape.keep(before_BTF);
    return out_.forward(tanh_gelu(before_BTF), tape);
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const at::Tensor dafter_BTF = out_.backward(dy, tape, gradients);
    return in_.backward(tanh_gelu_backward(tape.take(), dafter_BTF), tape, gradients);
  }

 private:
  Projection in_, out_;
};

class SwigluMlp final : public ModelPart {
 public:
  SwigluMlp(const MlpSpec& spec, const Parameters& parameters)
      : gate_(spec.in.at(0), parameters), up_(spec.in.at(1), parameters), down_(spec.out, parameters) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override {
    const at::Tensor gate_BTF = gate_.forward(x_BTC, tape);
    const at::Tensor up_BTF = up_.forward(x_BTC, tape);
    const at::Tensor open_BTF = at::silu(gate_BTF);
    for (const at::Tensor& kept : {gate_BTF, up_BTF, open_BTF}) tape.keep(kept);
    return down_.forward(open_BTF.mul(up_BTF), tape);
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const at::Tensor d_BTF = down_.backward(dy, tape, gradients);
    const at::Tensor open_BTF = tape.take();
    const at::Tensor up_BTF = tape.take();
    const at::Tensor gate_BTF = tape.take();
    const at::Tensor dx = up_.backward(d_BTF.mul(open_BTF), tape, gradients);
    return dx.add(gate_.backward(at::silu_backward(d_BTF.mul(up_BTF), gate_BTF), tape, gradients));
  }

 private:
  Projection gate_, up_, down_;
};

}  // namespace

std::unique_ptr<ModelPart> make_mlp(const MlpSpec& spec, const Parameters& parameters) {
  if (spec.kind == MlpKind::kGelu) return std::make_unique<GeluMlp>(spec, parameters);
  return std::make_unique<SwigluMlp>(spec, parameters);
}

}  // namespace shoal
