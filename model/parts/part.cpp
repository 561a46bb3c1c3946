// Tapes, parameters and their gradients.
#include "model/parts/part.h"

#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {

at::Tensor Tape::take() {
  ENSURE(!kept_.empty(), "a backward takes what its forward kept");
  at::Tensor last = std::move(kept_.back());
  kept_.pop_back();
  return last;
}

Parameters::Parameters(const StagePlan& plan, const WeightMap& weights, Precision precision, DeviceSupport device)
    : copies_(precision == Precision::kBf16 ? std::make_shared<Bf16Copies>() : nullptr), device_(std::move(device)) {
  for (std::size_t index = 0; index < plan.tensors.size(); ++index) {
    const TensorSpec& tensor = plan.tensors[index];
    const auto found = weights.find(tensor.name);
    ENSURE(found != weights.end(), "a weight for " + tensor.name);
    ENSURE(found->second.scalar_type() == at::kFloat, tensor.name + " is float32");
    ENSURE(found->second.sizes() == at::IntArrayRef(tensor.shape), "the shape of " + tensor.name);
    by_name_[tensor.name] = {found->second, index};
  }
}

Parameter Parameters::of_product(const TensorSpec& tensor) const {
  Parameter parameter = of(tensor);
  if (!copies_) return parameter;
  const auto given = device_.copies.find(tensor.name);
  parameter.copy = given == device_.copies.end() ? copies_->add(parameter.value) : given->second;
  return parameter;
}

ParameterGradients::Slot& ParameterGradients::empty_slot(const Parameter& parameter) {
  Slot& slot = slots_.at(parameter.index);
  ENSURE(!slot.gradient.defined() && !slot.compute, "a parameter is used once");
  return slot;
}

void ParameterGradients::set(const Parameter& parameter, at::Tensor gradient) {
  empty_slot(parameter).gradient = std::move(gradient);
}

void ParameterGradients::set_of_projection(const Parameter& parameter, std::function<at::Tensor()> compute) {
  Slot& slot = empty_slot(parameter);
  if (when_ == OfProjections::kAtOnce) {
    slot.gradient = compute();
  } else {
    slot.compute = std::move(compute);
  }
}

at::Tensor ParameterGradients::take(std::size_t index) {
  Slot slot = std::exchange(slots_.at(index), {});
  ENSURE(slot.gradient.defined() || slot.compute, "every parameter has a gradient");
  return slot.gradient.defined() ? slot.gradient : slot.compute();
}

}  // namespace shoal
