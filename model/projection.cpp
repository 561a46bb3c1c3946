// One autograd function; what it leaves goes to the list of the thread that runs the backward pass.
#include "model/projection.h"

#include <optional>

#include "runtime/base/check.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "runtime/base/check_after_torch.h"

namespace shoal {
namespace {

thread_local LaterGradients* leaving_to = nullptr;

// d(sum of y * dy)/d(weight), in the weight's own layout: what autograd derives for mm and addmm.
at::Tensor weight_gradient(const LaterGradients::Left& left) {
  const bool has_inputs_first = left.layout == WeightLayout::kInputsByOutputs;
  return has_inputs_first ? at::mm(left.x_NI.t(), left.dy_NO) : at::mm(left.dy_NO.t(), left.x_NI);
}

at::Tensor bias_gradient(const LaterGradients::Left& left) { return left.dy_NO.sum(0); }

struct Projecting : torch::autograd::Function<Projecting> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x_NI, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, std::int64_t layout) {
    context->save_for_backward({x_NI, weight, bias.value_or(at::Tensor())});
    context->saved_data["layout"] = layout;
    const bool has_inputs_first = layout == static_cast<std::int64_t>(WeightLayout::kInputsByOutputs);
    const at::Tensor weight_IO = has_inputs_first ? weight : weight.t();
    return bias ? at::addmm(*bias, x_NI, weight_IO) : at::mm(x_NI, weight_IO);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto layout = static_cast<WeightLayout>(context->saved_data["layout"].toInt());
    LaterGradients::Left left{saved[1], saved[2], saved[0], gradients[0], layout};
    const at::Tensor weight_OI = layout == WeightLayout::kInputsByOutputs ? left.weight.t() : left.weight;
    const at::Tensor dx_NI = at::mm(left.dy_NO, weight_OI);
    if (leaving_to != nullptr) {
      leaving_to->add(std::move(left));
      return {dx_NI, {}, {}, {}};
    }
    return {dx_NI, weight_gradient(left), left.bias.defined() ? bias_gradient(left) : at::Tensor(), {}};
  }
};

}  // namespace

at::Tensor project(const at::Tensor& x_BTI, const at::Tensor& weight, const at::Tensor& bias, WeightLayout layout) {
  const auto sizes = x_BTI.sizes();
  const at::Tensor x_NI = x_BTI.reshape({sizes[0] * sizes[1], sizes[2]});
  const auto given = bias.defined() ? std::optional(bias) : std::nullopt;
  const at::Tensor y_NO = Projecting::apply(x_NI, weight, given, static_cast<std::int64_t>(layout));
  return y_NO.view({sizes[0], sizes[1], y_NO.size(1)});
}

at::Tensor LaterGradients::of(const at::Tensor& parameter) const {
  const auto is = [&parameter](const at::Tensor& other) {
    return other.defined() && other.const_data_ptr() == parameter.const_data_ptr();
  };
  at::Tensor found;
  for (const Left& left : left_) {
    const bool is_weight = is(left.weight);
    if (!is_weight && !is(left.bias)) continue;
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
