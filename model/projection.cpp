// One autograd function; what it leaves goes to the list of the thread that runs the backward pass.
#include "model/projection.h"

#include "runtime/base/check.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "runtime/base/check_after_torch.h"

namespace shoal {
namespace {

thread_local LaterGradients* leaving_to = nullptr;

// Gradients as autograd derives them for addmm.
at::Tensor weight_gradient(const LaterGradients::Left& left) { return at::mm(left.x_NI.t(), left.dy_NO); }
at::Tensor bias_gradient(const LaterGradients::Left& left) { return left.dy_NO.sum(0); }

struct Projecting : torch::autograd::Function<Projecting> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x_NI,
                            const at::Tensor& weight_IO, const at::Tensor& bias_O) {
    context->save_for_backward({x_NI, weight_IO, bias_O});
    return at::addmm(bias_O, x_NI, weight_IO);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    LaterGradients::Left left{saved[1], saved[2], saved[0], gradients[0]};
    const at::Tensor dx_NI = at::mm(left.dy_NO, left.weight_IO.t());
    if (leaving_to == nullptr) return {dx_NI, weight_gradient(left), bias_gradient(left)};
    leaving_to->add(std::move(left));
    return {dx_NI, {}, {}};
  }
};

}  // namespace

at::Tensor project(const at::Tensor& x_BTI, const at::Tensor& weight_IO, const at::Tensor& bias_O) {
  const auto sizes = x_BTI.sizes();
  const at::Tensor x_NI = x_BTI.reshape({sizes[0] * sizes[1], sizes[2]});
  return Projecting::apply(x_NI, weight_IO, bias_O).view({sizes[0], sizes[1], weight_IO.size(1)});
}

at::Tensor LaterGradients::of(const at::Tensor& parameter) const {
  const auto is = [&parameter](const at::Tensor& other) {
    return other.const_data_ptr() == parameter.const_data_ptr();
  };
  at::Tensor found;
  for (const Left& left : left_) {
    const bool is_weight = is(left.weight_IO);
    if (!is_weight && !is(left.bias_O)) continue;
    CHECK(!found.defined(), "a parameter is used by one projection");
    found = is_weight ? weight_gradient(left) : bias_gradient(left);
  }
  return found;
}

LeavingForLater::LeavingForLater(LaterGradients& later) {
  CHECK(leaving_to == nullptr, "one list at a time");
  leaving_to = &later;
}

LeavingForLater::~LeavingForLater() { leaving_to = nullptr; }

}  // namespace shoal
