// Projections with an activation between them.
#include "model/parts/mlp.h"

#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include "model/parts/bf16/swiglu.h"
#include "model/parts/gelu.h"
#include "model/parts/projection.h"

namespace shoal {
namespace {

class GeluMlp final : public ModelPart {
 public:
  GeluMlp(const MlpSpec& spec, const Parameters& parameters)
      : product_type_(parameters.product_type()),
        in_(spec.in.at(0), parameters, product_type_),
        out_(spec.out, parameters, parameters.branch_type()) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override {
    const at::Tensor before_BTF = in_.forward(x_BTC.to(product_type_), tape);
    tape.keep(before_BTF);
    return out_.forward(tanh_gelu(before_BTF), tape);
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const at::Tensor dafter_BTF = out_.backward(dy, tape, gradients);
    return in_.backward(tanh_gelu_backward(tape.take(), dafter_BTF), tape, gradients);
  }

 private:
  at::ScalarType product_type_;
  Projection in_, out_;
};

ProjectionSpec without_bias(ProjectionSpec spec) {
  spec.bias.reset();
  return spec;
}

// The same with bias and GELU in one pass each way, by the device's own kernels.
class FusedGeluMlp final : public ModelPart {
 public:
  FusedGeluMlp(const MlpSpec& spec, const Parameters& parameters)
      : math_(*parameters.fused()),
        product_type_(parameters.product_type()),
        in_(without_bias(spec.in.at(0)), parameters, product_type_),
        bias_(parameters.of(spec.in.at(0).bias.value())),
        out_(spec.out, parameters, parameters.branch_type()) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override {
    const at::Tensor before_BTF = in_.forward(x_BTC.to(product_type_), tape);
    tape.keep(before_BTF);
    return out_.forward(math_.bias_gelu(before_BTF, bias_.value), tape);
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const at::Tensor dafter_BTF = out_.backward(dy, tape, gradients);
    const auto [dbefore_BTF, dbias] = math_.bias_gelu_backward(tape.take(), bias_.value, dafter_BTF);
    gradients.set(bias_, dbias);
    return in_.backward(dbefore_BTF, tape, gradients);
  }

 private:
  const FusedMath& math_;
  at::ScalarType product_type_;
  Projection in_;
  Parameter bias_;
  Projection out_;
};

class SwigluMlp final : public ModelPart {
 public:
  SwigluMlp(const MlpSpec& spec, const Parameters& parameters)
      : gate_(spec.in.at(0), parameters, at::kFloat),
        up_(spec.in.at(1), parameters, at::kFloat),
        down_(spec.out, parameters, at::kFloat) {}

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

// The same in bf16, with the gate in one pass over its values, and nothing kept but what comes out of products.
class Bf16SwigluMlp final : public ModelPart {
 public:
  Bf16SwigluMlp(const MlpSpec& spec, const Parameters& parameters)
      : gate_(spec.in.at(0), parameters, at::kBFloat16),
        up_(spec.in.at(1), parameters, at::kBFloat16),
        down_(spec.out, parameters, parameters.branch_type()) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override {
    const at::Tensor x = x_BTC.to(at::kBFloat16);
    const at::Tensor gate_BTF = gate_.forward(x, tape);
    const at::Tensor up_BTF = up_.forward(x, tape);
    tape.keep(gate_BTF);
    tape.keep(up_BTF);
    return down_.forward(bf16_swiglu(gate_BTF, up_BTF), tape);
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const at::Tensor d_BTF = down_.backward(dy, tape, gradients);
    const at::Tensor up_BTF = tape.take();
    const at::Tensor gate_BTF = tape.take();
    const auto [dgate_BTF, dup_BTF] = bf16_swiglu_backward(gate_BTF, up_BTF, d_BTF);
    const at::Tensor dx = up_.backward(dup_BTF, tape, gradients);
    return dx.add(gate_.backward(dgate_BTF, tape, gradients));
  }

 private:
  Projection gate_, up_, down_;
};

// The gate by the device's own kernels, in float32 or bf16.
class FusedSwigluMlp final : public ModelPart {
 public:
  FusedSwigluMlp(const MlpSpec& spec, const Parameters& parameters)
      : math_(*parameters.fused()),
        product_type_(parameters.product_type()),
        gate_(spec.in.at(0), parameters, product_type_),
        up_(spec.in.at(1), parameters, product_type_),
        down_(spec.out, parameters, parameters.branch_type()) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override {
    const at::Tensor x = x_BTC.to(product_type_);
    const at::Tensor gate_BTF = gate_.forward(x, tape);
    const at::Tensor up_BTF = up_.forward(x, tape);
    tape.keep(gate_BTF);
    tape.keep(up_BTF);
    return down_.forward(math_.swiglu(gate_BTF, up_BTF), tape);
  }

  [[nodiscard]] at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const override {
    const at::Tensor d_BTF = down_.backward(dy, tape, gradients);
    const at::Tensor up_BTF = tape.take();
    const at::Tensor gate_BTF = tape.take();
    const auto [dgate_BTF, dup_BTF] = math_.swiglu_backward(gate_BTF, up_BTF, d_BTF);
    const at::Tensor dx = up_.backward(dup_BTF, tape, gradients);
    return dx.add(gate_.backward(dgate_BTF, tape, gradients));
  }

 private:
  const FusedMath& math_;
  at::ScalarType product_type_;
  Projection gate_, up_, down_;
};

}  // namespace

std::unique_ptr<ModelPart> make_mlp(const MlpSpec& spec, const Parameters& parameters) {
  const FusedMath* fused = parameters.fused();
  const bool is_fused = fused != nullptr && fused->takes_hidden_of(spec.out.in);
  if (spec.kind == MlpKind::kGelu) {
    if (is_fused && spec.in.at(0).bias) return std::make_unique<FusedGeluMlp>(spec, parameters);
    return std::make_unique<GeluMlp>(spec, parameters);
  }
  if (is_fused) return std::make_unique<FusedSwigluMlp>(spec, parameters);
  if (parameters.copies()) return std::make_unique<Bf16SwigluMlp>(spec, parameters);
  return std::make_unique<SwigluMlp>(spec, parameters);
}

}  // namespace shoal
