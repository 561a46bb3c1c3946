// Binds the kernel to autograd. The input is saved, not the gate: an exponential is cheaper than the memory it would
// take.
#include "model/parts/gelu.h"

#include <cstdint>
#include <span>

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "model/activation_kernels.h"

namespace shoal {
namespace {

// Elements per task of torch's threads; what a task computes does not depend on where it begins.
constexpr std::int64_t kGrain = 32768;

template <class Kernel>
void for_parts(const at::Tensor& like, const Kernel& kernel) {
  at::parallel_for(0, like.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  });
}

// Value: of the kernels; bf16 as its bits.
template <class Value>
at::Tensor compute(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const auto* from = static_cast<const Value*>(x.const_data_ptr());
  auto* to = static_cast<Value*>(y.mutable_data_ptr());
  for_parts(x, [&](std::size_t begin, std::size_t count) {
    gelu_forward(std::span(from + begin, count), std::span(to + begin, count));
  });
  return y;
}

template <class Value>
at::Tensor compute_gradient(const at::Tensor& x, const at::Tensor& dy) {
  at::Tensor dx = at::empty_like(x);
  const auto* from = static_cast<const Value*>(x.const_data_ptr());
  const auto* above = static_cast<const Value*>(dy.const_data_ptr());
  auto* to = static_cast<Value*>(dx.mutable_data_ptr());
  for_parts(x, [&](std::size_t begin, std::size_t count) {
    gelu_backward(std::span(from + begin, count), std::span(above + begin, count), std::span(to + begin, count));
  });
  return dx;
}

struct Gelu : torch::autograd::Function<Gelu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input) {
    const at::Tensor x = input.contiguous();
    context->save_for_backward({x});
    return x.scalar_type() == at::kFloat ? compute<float>(x) : compute<std::uint16_t>(x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    return {tanh_gelu_backward(context->get_saved_variables()[0], gradients[0])};
  }
};

}  // namespace

at::Tensor tanh_gelu(const at::Tensor& x) { return x.is_cpu() ? Gelu::apply(x) : at::gelu(x, "tanh"); }

at::Tensor tanh_gelu_backward(const at::Tensor& x, const at::Tensor& dy) {
  if (!x.is_cpu()) return at::gelu_backward(dy, x, "tanh");
  const bool is_float = x.scalar_type() == at::kFloat;
  return is_float ? compute_gradient<float>(x.contiguous(), dy.contiguous())
                  : compute_gradient<std::uint16_t>(x.contiguous(), dy.contiguous());
}

}  // namespace shoal
