// Binds the kernel to autograd. The input is saved, not the gate: an exponential is cheaper than the memory it would
// take.
#include "model/parts/gelu.h"

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

struct Gelu : torch::autograd::Function<Gelu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input) {
    const at::Tensor x = input.contiguous();
    context->save_for_backward({x});
    at::Tensor y = at::empty_like(x);
    const auto* from = x.const_data_ptr<float>();
    auto* to = y.mutable_data_ptr<float>();
    for_parts(x, [&](std::size_t begin, std::size_t count) {
      gelu_forward({from + begin, count}, {to + begin, count});
    });
    return y;
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
  const at::Tensor at_x = x.contiguous();
  const at::Tensor above_x = dy.contiguous();
  at::Tensor dx = at::empty_like(at_x);
  const auto* from = at_x.const_data_ptr<float>();
  const auto* above = above_x.const_data_ptr<float>();
  auto* to = dx.mutable_data_ptr<float>();
  for_parts(at_x, [&](std::size_t begin, std::size_t count) {
    gelu_backward({from + begin, count}, {above + begin, count}, {to + begin, count});
  });
  return dx;
}

}  // namespace shoal
