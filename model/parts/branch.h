// A branch of a block: x + dropout(inner(norm(x))).
// Blocks are two of them, attention and MLP, each over a norm of its own (pre-norm).
#pragma once

#include <memory>

#include "model/parts/dropping.h"
#include "model/parts/norm.h"
#include "model/parts/part.h"

namespace shoal {

class Branch final : public ModelPart {
 public:
  Branch(std::unique_ptr<Norm> norm, std::unique_ptr<ModelPart> inner, DropoutPlace place)
      : norm_(std::move(norm)), inner_(std::move(inner)), place_(place) {}

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override {
    return x_BTC.add(drop(inner_->forward(norm_->forward(x_BTC, tape), tape), place_, tape));
  }
  [[nodiscard]] Residual forward_stream(const Residual& from, Tape& tape) const override {
    const auto [x_BTC, normal_BTC] = norm_->forward_onto(from, tape);
    return {x_BTC, drop(inner_->forward(normal_BTC, tape), place_, tape)};
  }
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BTC, Tape& tape,
                                    ParameterGradients& gradients) const override {
    return backward_stream({dy_BTC}, tape, gradients).d;
  }
  [[nodiscard]] StreamGradient backward_stream(const StreamGradient& dy, Tape& tape,
                                               ParameterGradients& gradients) const override {
    const bool takes_copy = dy.copy.defined() && tape.dropout.rate <= 0;
    const at::Tensor d_BTC =
        inner_->backward(takes_copy ? dy.copy : drop_backward(dy.d, place_, tape), tape, gradients);
    return norm_->backward_onto(dy.d, d_BTC, tape, gradients);
  }

 private:
  std::unique_ptr<Norm> norm_;
  std::unique_ptr<ModelPart> inner_;
  DropoutPlace place_;
};

}  // namespace shoal
